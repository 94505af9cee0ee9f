"""Prepared data with one flipped byte; a preparation that is killed; two at the same time."""

import shutil
import subprocess
import time
from pathlib import Path
from random import Random

from data_pipelines.prepared import NotPreparedError, open_prepared
from tests.benchmark.tiny_sweeps import fedbandit, results, write_tiny
from tests.chaos.data_sets import FORMAT, bytes_of, make_ready_quietly, prepared
from tests.chaos.sweeps import complaints, last_line, new_folder, start, traceback_in
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
    """Every second flip hits the manifest; every twentieth damage is met by a sweep first."""
    tally, (undamaged, _) = Tally("one flipped byte in prepared data"), prepared(folder)
    place = new_folder(folder, 1)
    (place / "data.toml").write_text(ON_DATA)
    make_ready_quietly(place / "data")
    expected = _results_on_data(place) if times >= 20 else {}
    for each in range(times):
        file = "manifest.json" if each % 2 else random.choice(sorted(undamaged))
        content = bytearray(undamaged[file])
        content[random.randrange(len(content))] ^= random.randint(1, 255)
        (place / "data" / "lastfm" / file).write_bytes(content)
        problems = _use_damaged(place, file)
        if each % 20 == 19:
            problems += _sweep_over_damaged(place, file)
        outcome, said = make_ready_quietly(place / "data")
        problems += [f"{file}: not detected"] if outcome.was_prepared_before or "anew" not in said else []
        problems += [f"{file}: other bytes"] if bytes_of(place / "data" / "lastfm") != undamaged else []
        if each % 20 == 19 and _results_on_data(place) != expected:
            problems.append(f"{file}: other results")
        tally.count(1, problems)
    return tally


def _use_damaged(place: Path, file: str) -> list[str]:
    try:
        open_prepared("lastfm", place / "data")
    except NotPreparedError:
        return []
    return [f"{file}: damaged data were opened"]


def _sweep_over_damaged(place: Path, file: str) -> list[str]:
    write_tiny(place, "tiny")
    done = fedbandit(place, "run", "data.toml", "--seeds", "0,1")
    told = done.returncode == 1 and "MISSING" in done.stderr and "Traceback" not in done.stderr
    return [] if told else [f"{file}: a sweep ran over it, exit code {done.returncode}"]


def _results_on_data(place: Path) -> dict[str, object]:
    done = fedbandit(place, "run", "data.toml")
    assert done.returncode == 0, done.stderr
    return results(place)


def kill_preparation(times: int, random: Random, folder: Path) -> Tally:
    """SIGKILL to `fedbandit data` at random moments; every third time it has to replace what is there."""
    tally, (undamaged, _) = Tally("SIGKILL to fedbandit data"), prepared(folder)
    begun = time.monotonic()
    assert fedbandit(folder, *FORMAT, "--force", FEDBANDIT_DATA="undisturbed-data").returncode == 0
    seconds = time.monotonic() - begun
    for each in range(times):
        place = new_folder(folder, 1)
        if each % 3 == 2:
            make_ready_quietly(place / "data")
        process = start(place, *FORMAT, "--force")
        try:
            process.wait(random.uniform(0.3, 0.95) * seconds)
            was_alive = False
        except subprocess.TimeoutExpired:
            was_alive = True
        process.kill()
        process.wait()
        tally.count(was_alive, _again(place, undamaged))
        shutil.rmtree(place)
    return tally


def prepare_at_once(times: int, random: Random, folder: Path) -> Tally:
    """Two `fedbandit data` in one folder, begun within a second of one another."""
    tally, (undamaged, _) = Tally("two preparations at once"), prepared(folder)
    for _ in range(times):
        place = new_folder(folder, 1)
        first = start(place, *FORMAT, "--force")
        time.sleep(random.uniform(0, 1))
        was_alive = first.poll() is None
        second = fedbandit(place, *FORMAT, "--force")
        codes = (first.wait(120), second.returncode)
        problems = [] if codes == (0, 0) else [f"exit codes {codes}: {last_line(second.stderr)}"]
        problems += traceback_in(complaints(place) + second.stderr) + _again(place, undamaged)
        tally.count(was_alive, problems)
    return tally


def _again(place: Path, undamaged: dict[str, bytes]) -> list[str]:
    done = fedbandit(place, *FORMAT)
    problems = [] if done.returncode == 0 else [f"exit code {done.returncode}: {last_line(done.stderr)}"]
    return problems + (["other bytes"] if bytes_of(place / "data" / "lastfm") != undamaged else [])
