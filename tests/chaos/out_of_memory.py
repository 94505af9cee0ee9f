"""A worker that runs out of memory, by an allocation that fails or by a SIGKILL such as the kernel sends."""

from pathlib import Path
from random import Random

from tests.benchmark.tiny_sweeps import fedbandit, results, rows
from tests.chaos.sweeps import RUNS_A_SEED, differences, new_folder, run_again, traceback_in
from tests.chaos.tally import Tally

HUNGRY = (Path(__file__).parent / "hungry.py").read_text()


def starve_workers(times: int, random: Random, folder: Path) -> Tally:
    """Half of the hungry runs fail in one way, half in the other; all others of the sweep must be finished at once."""
    tally, appetites = Tally("a worker out of memory"), list(range(times))
    random.shuffle(appetites)
    own = ("--algorithm", f"hungry:Hungry[appetite=[{','.join(map(str, appetites))}]]")
    at_ease, place = new_folder(folder, 1), new_folder(folder, 1)
    for each in (at_ease, place):
        (each / "hungry.py").write_text(HUNGRY)
    assert fedbandit(at_ease, "run", "tiny.toml", *own).returncode == 0
    expected = results(at_ease)
    (place / "hungry").touch()
    done = fedbandit(place, "run", "tiny.toml", "--jobs", "2", *own)
    failed = [error for (error,) in rows(place, "select value from tags where key = 'fedbandit.error'")]
    problems = traceback_in(done.stderr) + differences(place, expected)
    if done.returncode != 1:
        problems.append(f"exit code {done.returncode}")
    if sum("MemoryError" in error for error in failed) != sum(each % 2 for each in appetites):
        problems.append(f"no MemoryError was recorded: {failed}")
    finished = rows(place, "select count(*) from runs where status = 'FINISHED'")[0][0]
    if finished != RUNS_A_SEED:
        problems.append(f"only {finished} of {RUNS_A_SEED} runs beside them were finished")
    (place / "hungry").unlink()
    problems += run_again(place, expected, RUNS_A_SEED + times, *own)
    tally.count(len(failed), problems)
    return tally
