"""Prepared data with one flipped byte; a preparation that is killed; two preparations at the same time.

The data set is a small stand-in of LastFM.
"""

import contextlib
import io
import shutil
import subprocess
import time
from functools import cache
from pathlib import Path
from random import Random

from data_pipelines.fetch.sources import PreparationOptions
from data_pipelines.prepare.prepared import NotPreparedError, open_prepared
from data_pipelines.prepare.readiness import PreparationResult, make_ready
from tests.benchmark.tiny_sweeps import fedbandit, results
from tests.chaos.sweeps import Faults, Workspace, wrong_end

PREPARE = ("data", "lastfm", "--stand-in", "--size", "small")
ON_DATA = """
title = "On data"
streams = [{ dataset = "lastfm", arms = 5 }]
[[algorithms]]
name = "async-linucb"
gamma = [1, 3, inf]
[profiles.quick]
seeds = 1
"""


@cache
def prepared(parent: Path) -> tuple[dict[str, bytes], int]:
    """Return the files of an undisturbed preparation, and the disk space that the data folder needs."""
    folder = parent / "undisturbed-data"
    make_ready_quietly(folder)
    needed = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return bytes_of(folder / "lastfm"), needed


def bytes_of(folder: Path) -> dict[str, bytes]:
    """Return all files of a folder."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())} if folder.is_dir() else {}


def make_ready_quietly(folder: Path) -> tuple[PreparationResult, str]:
    """Prepare the data set in this process, and return the result and the output."""
    output = io.StringIO()
    with contextlib.redirect_stderr(output):
        result = make_ready("lastfm", PreparationOptions(folder=folder, stand_in="small"))
    return result, output.getvalue()


def flip_bytes(times: int, random: Random, folder: Path) -> Faults:
    """Flip bytes, every second time in the manifest; every twentieth time, a sweep is the first to use the data."""
    undamaged, workspace = prepared(folder)[0], Workspace(folder, 1).folder
    (workspace / "data.toml").write_text(ON_DATA)
    data = workspace / "data"
    make_ready_quietly(data)
    expected = _results_on_data(workspace) if times >= 20 else {}
    for number in range(times):
        file = "manifest.json" if number % 2 else random.choice(sorted(undamaged))
        content = bytearray(undamaged[file])
        content[random.randrange(len(content))] ^= random.randint(1, 255)
        (data / "lastfm" / file).write_bytes(content)
        problems = []
        with contextlib.suppress(NotPreparedError):
            open_prepared("lastfm", data)
            problems.append(f"{file}: damaged data were opened")
        if number % 20 == 19:
            done = fedbandit(workspace, "run", "data.toml", "--seeds", "0,1")
            problems += wrong_end(done.returncode, done.stderr, [1])
            problems += [] if "MISSING" in done.stderr else [f"{file}: a sweep used it"]
        result, output = make_ready_quietly(data)
        if result.was_prepared_before or "preparing it again" not in output:
            problems.append(f"{file}: not detected")
        problems += [f"{file}: different bytes"] if bytes_of(data / "lastfm") != undamaged else []
        if number % 20 == 19 and _results_on_data(workspace) != expected:
            problems.append(f"{file}: different results")
        yield 1, problems


def _results_on_data(workspace: Path) -> dict[str, object]:
    done = fedbandit(workspace, "run", "data.toml")
    assert done.returncode == 0, done.stderr
    return results(workspace)


def kill_preparation(times: int, random: Random, folder: Path) -> Faults:
    """Send SIGKILL to `fedbandit data` at random moments; every third time, it replaces existing data."""
    undamaged, start_time = prepared(folder)[0], time.monotonic()
    assert fedbandit(folder, *PREPARE, "--force", FEDBANDIT_DATA="undisturbed-data").returncode == 0
    seconds = time.monotonic() - start_time
    for number in range(times):
        workspace = Workspace(folder, 1)
        if number % 3 == 2:
            make_ready_quietly(workspace.folder / "data")
        process, was_alive = workspace.start(*PREPARE, "--force"), False
        try:
            process.wait(random.uniform(0.3, 0.95) * seconds)
        except subprocess.TimeoutExpired:
            was_alive = True
        process.kill()
        process.wait()
        yield was_alive, _again(workspace, undamaged)
        shutil.rmtree(workspace.folder)


def prepare_at_once(times: int, random: Random, folder: Path) -> Faults:
    """Run `fedbandit data` twice in one folder, started within a second."""
    undamaged = prepared(folder)[0]
    for _ in range(times):
        workspace = Workspace(folder, 1)
        first = workspace.start(*PREPARE, "--force")
        time.sleep(random.uniform(0, 1))
        was_alive = first.poll() is None
        second = fedbandit(workspace.folder, *PREPARE, "--force")
        problems = workspace.wrong_end(first, seconds=120) + wrong_end(second.returncode, second.stderr)
        yield was_alive, problems + _again(workspace, undamaged)


def _again(workspace: Workspace, undamaged: dict[str, bytes]) -> list[str]:
    done = fedbandit(workspace.folder, *PREPARE)
    is_same = bytes_of(workspace.folder / "data" / "lastfm") == undamaged
    return wrong_end(done.returncode, done.stderr) + ([] if is_same else ["different bytes"])
