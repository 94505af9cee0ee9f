"""A worker that runs out of memory: a failed allocation, or a SIGKILL as sent by the kernel."""

from pathlib import Path
from random import Random

from tests.benchmark.tiny_sweeps import fedbandit, results, rows
from tests.chaos.sweeps import RUNS_PER_SEED, differences, new_folder, run_again, traceback_in
from tests.chaos.tally import Tally

HUNGRY = (Path(__file__).parent / "hungry.py").read_text()


def starve_workers(times: int, random: Random, folder: Path) -> Tally:
    """Let half of the hungry runs fail in each way; all other runs of the sweep must finish in the same command."""
    tally, appetites = Tally("a worker out of memory"), list(range(times))
    random.shuffle(appetites)
    own = ("--method", f"hungry:Hungry[appetite=[{','.join(map(str, appetites))}]]")
    reference, workspace = new_folder(folder, 1), new_folder(folder, 1)
    for target in (reference, workspace):
        (target / "hungry.py").write_text(HUNGRY)
    assert fedbandit(reference, "run", "tiny.toml", *own).returncode == 0
    expected = results(reference)
    (workspace / "hungry").touch()
    done = fedbandit(workspace, "run", "tiny.toml", "--jobs", "2", *own)
    errors = [error for (error,) in rows(workspace, "select value from tags where key = 'fedbandit.error'")]
    problems = traceback_in(done.stderr) + differences(workspace, expected)
    if done.returncode != 1:
        problems.append(f"exit code {done.returncode}")
    if sum("MemoryError" in error for error in errors) != sum(appetite % 2 for appetite in appetites):
        problems.append(f"no MemoryError was recorded: {errors}")
    finished = rows(workspace, "select count(*) from runs where status = 'FINISHED'")[0][0]
    if finished != RUNS_PER_SEED:
        problems.append(f"only {finished} of {RUNS_PER_SEED} other runs were finished")
    (workspace / "hungry").unlink()
    problems += run_again(workspace, expected, RUNS_PER_SEED + times, *own)
    tally.count(len(errors), problems)
    return tally
