"""Prepared data with one flipped byte; a preparation that is killed; two preparations at the same time."""

import shutil
import subprocess
import time
from pathlib import Path
from random import Random

from data_pipelines.prepare.prepared import NotPreparedError, open_prepared
from tests.benchmark.tiny_sweeps import fedbandit, results, write_tiny
from tests.chaos.data_sets import FORMAT, bytes_of, make_ready_quietly, prepared
from tests.chaos.sweeps import error_output, last_line, new_folder, start, traceback_in
from tests.chaos.tally import Tally

ON_DATA = """
title = "On data"
streams = [{ dataset = "lastfm", arms = 5 }]
[[algorithms]]
name = "async-linucb"
gamma = [1, 3, inf]
[profiles.quick]
seeds = 1
"""


def flip_bytes(times: int, random: Random, folder: Path) -> Tally:
    """Flip bytes, every second time in the manifest; every twentieth time, a sweep is the first to use the data."""
    tally, (undamaged, _) = Tally("one flipped byte in prepared data"), prepared(folder)
    workspace = new_folder(folder, 1)
    (workspace / "data.toml").write_text(ON_DATA)
    make_ready_quietly(workspace / "data")
    expected = _results_on_data(workspace) if times >= 20 else {}
    for number in range(times):
        file = "manifest.json" if number % 2 else random.choice(sorted(undamaged))
        content = bytearray(undamaged[file])
        content[random.randrange(len(content))] ^= random.randint(1, 255)
        (workspace / "data" / "lastfm" / file).write_bytes(content)
        problems = _use_damaged(workspace, file)
        if number % 20 == 19:
            problems += _sweep_over_damaged(workspace, file)
        result, output = make_ready_quietly(workspace / "data")
        problems += (
            [f"{file}: not detected"] if result.was_prepared_before or "preparing it again" not in output else []
        )
        problems += [f"{file}: different bytes"] if bytes_of(workspace / "data" / "lastfm") != undamaged else []
        if number % 20 == 19 and _results_on_data(workspace) != expected:
            problems.append(f"{file}: different results")
        tally.count(1, problems)
    return tally


def _use_damaged(workspace: Path, file: str) -> list[str]:
    try:
        open_prepared("lastfm", workspace / "data")
    except NotPreparedError:
        return []
    return [f"{file}: damaged data were opened"]


def _sweep_over_damaged(workspace: Path, file: str) -> list[str]:
    write_tiny(workspace, "tiny")
    done = fedbandit(workspace, "run", "data.toml", "--seeds", "0,1")
    was_detected = done.returncode == 1 and "MISSING" in done.stderr and "Traceback" not in done.stderr
    return [] if was_detected else [f"{file}: a sweep used it, exit code {done.returncode}"]


def _results_on_data(workspace: Path) -> dict[str, object]:
    done = fedbandit(workspace, "run", "data.toml")
    assert done.returncode == 0, done.stderr
    return results(workspace)


def kill_preparation(times: int, random: Random, folder: Path) -> Tally:
    """Send SIGKILL to `fedbandit data` at random moments; every third time, it replaces existing data."""
    tally, (undamaged, _) = Tally("SIGKILL to fedbandit data"), prepared(folder)
    start_time = time.monotonic()
    assert fedbandit(folder, *FORMAT, "--force", FEDBANDIT_DATA="undisturbed-data").returncode == 0
    seconds = time.monotonic() - start_time
    for number in range(times):
        workspace = new_folder(folder, 1)
        if number % 3 == 2:
            make_ready_quietly(workspace / "data")
        process = start(workspace, *FORMAT, "--force")
        try:
            process.wait(random.uniform(0.3, 0.95) * seconds)
            was_alive = False
        except subprocess.TimeoutExpired:
            was_alive = True
        process.kill()
        process.wait()
        tally.count(was_alive, _again(workspace, undamaged))
        shutil.rmtree(workspace)
    return tally


def prepare_at_once(times: int, random: Random, folder: Path) -> Tally:
    """Run `fedbandit data` twice in one folder, started within a second."""
    tally, (undamaged, _) = Tally("two preparations at once"), prepared(folder)
    for _ in range(times):
        workspace = new_folder(folder, 1)
        first = start(workspace, *FORMAT, "--force")
        time.sleep(random.uniform(0, 1))
        was_alive = first.poll() is None
        second = fedbandit(workspace, *FORMAT, "--force")
        codes = (first.wait(120), second.returncode)
        problems = [] if codes == (0, 0) else [f"exit codes {codes}: {last_line(second.stderr)}"]
        problems += traceback_in(error_output(workspace) + second.stderr) + _again(workspace, undamaged)
        tally.count(was_alive, problems)
    return tally


def _again(workspace: Path, undamaged: dict[str, bytes]) -> list[str]:
    done = fedbandit(workspace, *FORMAT)
    problems = [] if done.returncode == 0 else [f"exit code {done.returncode}: {last_line(done.stderr)}"]
    return problems + (["different bytes"] if bytes_of(workspace / "data" / "lastfm") != undamaged else [])
