"""A full disk and a read-only disk: real file systems of a few megabytes, mounted for a single command."""

import shutil
import subprocess
from pathlib import Path
from random import Random

from tests.benchmark.test_run_command import UNSHARE, may_mount
from tests.benchmark.tiny_sweeps import command, environment, fedbandit
from tests.chaos.data_sets import FORMAT, bytes_of, prepared, small_archive
from tests.chaos.sweeps import (
    RUNS_PER_SEED,
    differences,
    last_line,
    new_folder,
    run_again,
    traceback_in,
    undisturbed,
)
from tests.chaos.tally import Tally
from tests.data_pipelines.tls_server import Authority, running, whole
from tests.readme import ROOT


def fill_disk_during_sweep(times: int, random: Random, folder: Path) -> Tally:
    """Run a sweep on a file system with space for some of its runs."""
    tally, expected = Tally("full disk during a sweep"), undisturbed(folder)
    for _ in range(times if may_mount() else 0):
        workspace = new_folder(folder, 2)
        size = (workspace / "mlflow.db").stat().st_size + random.randint(40_000, 500_000)
        done = on_a_disk(workspace, f"size={size}", "cp *.toml *.db mount", "run", "tiny.toml", "--jobs", "1")
        mount = workspace / "mount"
        problems = traceback_in(done.stderr) + differences(mount, expected)
        problems += [] if done.returncode == 2 else [f"exit code {done.returncode}: {last_line(done.stderr)}"]
        problems += run_again(mount, expected, 2 * RUNS_PER_SEED)
        tally.count("no space left" in last_line(done.stderr), problems)
    return tally


def fill_disk_during_preparation(times: int, random: Random, folder: Path) -> Tally:
    """Prepare data on a file system with space for a part of the arrays."""
    tally, (undamaged, needed) = Tally("full disk during preparation"), prepared(folder)
    for _ in range(times if may_mount() else 0):
        workspace = new_folder(folder, 1)
        done = on_a_disk(
            workspace, f"size={random.randint(40_000, needed - 8_000)}", "true", *FORMAT, FEDBANDIT_DATA="."
        )
        tally.count("No space left" in done.stderr, _after_a_full_disk(done, workspace / "mount", undamaged, {}))
    return tally


def fill_disk_during_download(times: int, random: Random, folder: Path) -> Tally:
    """Download from a real https server to a file system with space for a part of the archive."""
    tally, content = Tally("full disk during download"), small_archive(folder).read_bytes()
    authority = Authority(folder)
    with running(authority.server_certificate()) as server:
        server.behaviours = [whole(content)]
        source = ("data", "lastfm", "--mirror", server.address)
        trusting = {"REQUESTS_CA_BUNDLE": str(authority.bundle), "FEDBANDIT_DATA": ".", "PIP_NO_INDEX": "1"}
        assert fedbandit(folder, *source, **{**trusting, "FEDBANDIT_DATA": "downloaded"}).returncode == 0
        undamaged = bytes_of(folder / "downloaded" / "lastfm")
        for _ in range(times if may_mount() else 0):
            workspace = new_folder(folder, 1)
            size = random.randint(20_000, len(content) - 8_192)
            done = on_a_disk(workspace, f"size={size}", "true", *source, **trusting)
            mount = workspace / "mount"
            problems = _after_a_full_disk(done, mount, undamaged, trusting, *source)
            tally.count("No space left" in done.stderr, problems)
    return tally


def write_to_read_only(times: int, random: Random, folder: Path) -> Tally:
    """Run a sweep on a read-only file system, with a store that contains half of the runs."""
    tally, expected = Tally("read-only store"), undisturbed(folder)
    for _ in range(times if may_mount() else 0):
        workspace = new_folder(folder, 2)
        half = random.choice(["sync-linucb", "async-linucb"])
        assert fedbandit(workspace, "run", "tiny.toml", "--method", half).returncode == 0
        prepare = "cp -r *.toml *.db mount; mount -o remount,ro mount"
        done = on_a_disk(workspace, "size=50m", prepare, "run", "tiny.toml")
        problems = [] if done.returncode == 2 else [f"exit code {done.returncode}: {last_line(done.stderr)}"]
        problems += [] if done.stderr.count("\n") == 1 else [f"not one line: {done.stderr[:200]}"]
        problems += differences(workspace / "mount", expected) + run_again(workspace, expected, 2 * RUNS_PER_SEED)
        tally.count("cannot be written" in done.stderr, problems)
    return tally


def on_a_disk(
    folder: Path, options: str, prepare: str, *arguments: str, **extra: str
) -> "subprocess.CompletedProcess[str]":
    """Run the command in `mount`, a separate file system; its content is copied to the folder `mount` afterwards."""
    (folder / "mount").mkdir()
    command_line = " ".join(command(*arguments))
    script = (
        f"mount -t tmpfs -o {options} tmpfs mount || exit 99; {prepare}; cd mount; {command_line}; code=$?; "
        "cp -r . ../kept; exit $code"
    )
    done = subprocess.run(
        [*UNSHARE, "sh", "-c", script],
        cwd=folder,
        env=environment(PYTHONDONTWRITEBYTECODE="1", PYTHONPATH=str(ROOT), **extra),
        capture_output=True,
        text=True,
        timeout=300,
    )
    shutil.copytree(folder / "kept", folder / "mount", dirs_exist_ok=True)
    return done


def _after_a_full_disk(
    done: "subprocess.CompletedProcess[str]",
    mount: Path,
    undamaged: dict[str, bytes],
    extra: dict[str, str],
    *again: str,
) -> list[str]:
    problems = traceback_in(done.stderr)
    problems += [] if done.returncode in (1, 2) else [f"exit code {done.returncode}"]
    problems += (
        ["a partially written data set has its final name"] if (mount / "lastfm" / "manifest.json").exists() else []
    )
    repetition = fedbandit(mount, *(again or FORMAT), **{"FEDBANDIT_DATA": ".", **extra})
    problems += [] if repetition.returncode == 0 else [f"repeated: {last_line(repetition.stderr)}"]
    if bytes_of(mount / "lastfm") != undamaged:
        problems.append("different bytes than undisturbed")
    return problems
