"""A full disk and a read-only one: real file systems of a few megabytes, mounted for one command alone."""

import shutil
import subprocess
from pathlib import Path
from random import Random

from tests.benchmark.test_run_command import UNSHARE, may_mount
from tests.benchmark.tiny_sweeps import command, environment, fedbandit
from tests.chaos.data_sets import FORMAT, bytes_of, prepared, small_archive
from tests.chaos.sweeps import (
    RUNS_A_SEED,
    differences,
    last_line,
    new_folder,
    run_again,
    traceback_in,
    undisturbed,
)
from tests.chaos.tally import Tally
from tests.data_pipelines.tls_server import Authority, running, whole


def fill_disk_during_sweep(times: int, random: Random, folder: Path) -> Tally:
    """The store's file system has room for some runs, not for all."""
    tally, expected = Tally("full disk during a sweep"), undisturbed(folder)
    for _ in range(times if may_mount() else 0):
        place = new_folder(folder, 2)
        room = (place / "mlflow.db").stat().st_size + random.randint(40_000, 500_000)
        done = on_a_disk(place, f"size={room}", "cp *.toml *.db mount", "run", "tiny.toml", "--jobs", "1")
        left = place / "mount"
        problems = traceback_in(done.stderr) + differences(left, expected)
        problems += [] if done.returncode == 2 else [f"exit code {done.returncode}: {last_line(done.stderr)}"]
        problems += run_again(left, expected, 2 * RUNS_A_SEED)
        tally.count("no space left" in last_line(done.stderr), problems)
    return tally


def fill_disk_during_preparation(times: int, random: Random, folder: Path) -> Tally:
    """The data folder's file system has room for a part of the arrays."""
    tally, (undamaged, needed) = Tally("full disk during preparation"), prepared(folder)
    for _ in range(times if may_mount() else 0):
        place = new_folder(folder, 1)
        done = on_a_disk(place, f"size={random.randint(40_000, needed - 8_000)}", "true", *FORMAT, FEDBANDIT_DATA=".")
        tally.count("No space left" in done.stderr, _after_a_full_disk(done, place / "mount", undamaged, {}))
    return tally


def fill_disk_during_download(times: int, random: Random, folder: Path) -> Tally:
    """The data folder's file system has room for a part of the archive, which a real https server sends."""
    tally, content = Tally("full disk during download"), small_archive(folder).read_bytes()
    authority = Authority(folder)
    with running(authority.server_certificate()) as server:
        server.behaviours = [whole(content)]
        source = ("data", "lastfm", "--mirror", server.address)
        trusting = {"REQUESTS_CA_BUNDLE": str(authority.bundle), "FEDBANDIT_DATA": "."}
        assert fedbandit(folder, *source, **{**trusting, "FEDBANDIT_DATA": "downloaded"}).returncode == 0
        undamaged = bytes_of(folder / "downloaded" / "lastfm")
        for _ in range(times if may_mount() else 0):
            place = new_folder(folder, 1)
            room = random.randint(20_000, len(content) - 8_192)
            done = on_a_disk(place, f"size={room}", "true", *source, **trusting)
            left = place / "mount"
            problems = _after_a_full_disk(done, left, undamaged, trusting, *source)
            tally.count("No space left" in done.stderr, problems)
    return tally


def write_to_read_only(times: int, random: Random, folder: Path) -> Tally:
    """A store that holds half of the runs already, on a file system that cannot be written."""
    tally, expected = Tally("read-only store"), undisturbed(folder)
    for _ in range(times if may_mount() else 0):
        place = new_folder(folder, 2)
        half = random.choice(["sync-linucb", "async-linucb"])
        assert fedbandit(place, "run", "tiny.toml", "--algorithm", half).returncode == 0
        prepare = "cp -r *.toml *.db mount; mount -o remount,ro mount"
        done = on_a_disk(place, "size=50m", prepare, "run", "tiny.toml")
        problems = [] if done.returncode == 2 else [f"exit code {done.returncode}: {last_line(done.stderr)}"]
        problems += [] if done.stderr.count("\n") == 1 else [f"not one line: {done.stderr[:200]}"]
        problems += differences(place / "mount", expected) + run_again(place, expected, 2 * RUNS_A_SEED)
        tally.count("cannot be written" in done.stderr, problems)
    return tally


def on_a_disk(
    folder: Path, options: str, prepare: str, *arguments: str, **extra: str
) -> "subprocess.CompletedProcess[str]":
    """Run the command in `mount`, a file system of its own; what it leaves there is there afterwards too."""
    (folder / "mount").mkdir()
    called = " ".join(command(*arguments))
    script = (
        f"mount -t tmpfs -o {options} tmpfs mount || exit 99; {prepare}; cd mount; {called}; code=$?; "
        "cp -r . ../kept; exit $code"
    )
    done = subprocess.run(
        [*UNSHARE, "sh", "-c", script],
        cwd=folder,
        env=environment(PYTHONDONTWRITEBYTECODE="1", PYTHONPATH=str(Path.cwd()), **extra),
        capture_output=True,
        text=True,
        timeout=300,
    )
    shutil.copytree(folder / "kept", folder / "mount", dirs_exist_ok=True)
    return done


def _after_a_full_disk(
    done: "subprocess.CompletedProcess[str]",
    left: Path,
    undamaged: dict[str, bytes],
    extra: dict[str, str],
    *again: str,
) -> list[str]:
    problems = traceback_in(done.stderr)
    problems += [] if done.returncode in (1, 2) else [f"exit code {done.returncode}"]
    problems += ["something half-written has its name"] if (left / "lastfm" / "manifest.json").exists() else []
    once_more = fedbandit(left, *(again or FORMAT), **{"FEDBANDIT_DATA": ".", **extra})
    problems += [] if once_more.returncode == 0 else [f"again: {last_line(once_more.stderr)}"]
    if bytes_of(left / "lastfm") != undamaged:
        problems.append("other bytes than undisturbed")
    return problems
