"""A clock that is set back by up to a day at a time while sweeps and preparations run."""

from pathlib import Path
from random import Random

from tests.benchmark.tiny_sweeps import fedbandit, rows
from tests.chaos.data_sets import FORMAT, bytes_of, prepared
from tests.chaos.sweeps import RUNS_PER_SEED, differences, last_line, new_folder, traceback_in, undisturbed
from tests.chaos.tally import Tally

SEEDS = 2
HERE = Path(__file__).parent


def set_clock_back(times: int, random: Random, folder: Path) -> Tally:
    """Give the parent and each worker its own clock, and set each back up to five times."""
    tally, expected, (undamaged, _) = Tally("clock set back"), undisturbed(folder), prepared(folder)
    while tally.injected < times:
        workspace = new_folder(folder, SEEDS)
        jumps = workspace / "jumps"
        jumps.touch()
        clock = {
            "PYTHONPATH": f"{HERE / 'clock'}:{HERE.parents[1]}",
            "CLOCK_SEED": str(random.getrandbits(16)),
            "CLOCK_MAX_JUMPS": "5",
            "CLOCK_JUMPS": str(jumps),
        }
        swept = fedbandit(workspace, "run", "tiny.toml", "--jobs", "2", **clock)
        ready = fedbandit(workspace, *FORMAT, **clock)
        problems = differences(workspace, expected, runs=SEEDS * RUNS_PER_SEED)
        for done in (swept, ready):
            problems += traceback_in(done.stderr)
            problems += [] if done.returncode == 0 else [f"exit code {done.returncode}: {last_line(done.stderr)}"]
        if bytes_of(workspace / "data" / "lastfm") != undamaged:
            problems.append("prepared data differ")
        backwards = "select count(*) from runs where end_time < start_time and name not like 'sweep%'"
        problems += ["a run ended before it started"] if rows(workspace, backwards)[0][0] else []
        injected = len(jumps.read_text().splitlines())
        tally.count(injected, problems)
        if not injected:
            tally.problems.append("no clock was set back")
            break
    return tally
