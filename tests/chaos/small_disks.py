"""A full disk and a read-only disk: real file systems of a few megabytes, mounted for a single command."""

import shutil
import subprocess
from pathlib import Path
from random import Random

from tests.benchmark.test_run_command import UNSHARE, may_mount
from tests.benchmark.tiny_sweeps import command, environment, fedbandit
from tests.chaos.damaged_data import PREPARE, bytes_of, prepared
from tests.chaos.sweeps import Faults, Workspace, last_line, no_refusal, wrong_end
from tests.data_pipelines.archives import LASTFM, write_archive
from tests.data_pipelines.tls_server import Authority, running, whole
from tests.readme import ROOT

SEEDS = 2


def fill_disk_during_sweep(times: int, random: Random, folder: Path) -> Faults:
    """Run a sweep on a file system with space for some of its runs."""
    for _ in range(times if may_mount() else 0):
        workspace = Workspace(folder, SEEDS)
        size = (workspace.folder / "mlflow.db").stat().st_size + random.randint(40_000, 500_000)
        done = on_a_disk(workspace, f"size={size}", "cp *.toml *.db mount", "run", "tiny.toml", "--jobs", "1")
        problems = wrong_end(done.returncode, done.stderr, [2]) + workspace.differences() + workspace.run_again()
        yield "no space left" in last_line(done.stderr), problems


def fill_disk_during_preparation(times: int, random: Random, folder: Path) -> Faults:
    """Prepare data on a file system with space for a part of the arrays."""
    undamaged, needed = prepared(folder)
    for _ in range(times if may_mount() else 0):
        size = random.randint(40_000, needed - 8_000)
        yield _prepare_on_a_full_disk(Workspace(folder, 1), size, undamaged, PREPARE, FEDBANDIT_DATA=".")


def fill_disk_during_download(times: int, random: Random, folder: Path) -> Faults:
    """Download from a real https server to a file system with space for a part of the archive."""
    authority, content = Authority(folder), write_archive(LASTFM, folder / "archives").read_bytes()
    with running(authority.server_certificate()) as server:
        server.behaviours = [whole(content)]
        source = ("data", "lastfm", "--mirror", server.address)
        trusting = {"REQUESTS_CA_BUNDLE": str(authority.bundle), "FEDBANDIT_DATA": ".", "PIP_NO_INDEX": "1"}
        assert fedbandit(folder, *source, **{**trusting, "FEDBANDIT_DATA": "downloaded"}).returncode == 0
        undamaged = bytes_of(folder / "downloaded" / "lastfm")
        for _ in range(times if may_mount() else 0):
            size = random.randint(20_000, len(content) - 8_192)
            yield _prepare_on_a_full_disk(Workspace(folder, 1), size, undamaged, source, **trusting)


def write_to_read_only(times: int, random: Random, folder: Path) -> Faults:
    """Run a sweep on a read-only file system, with a store that contains half of the runs."""
    for _ in range(times if may_mount() else 0):
        workspace = Workspace(folder, SEEDS)
        half = random.choice(["sync-linucb", "async-linucb"])
        assert fedbandit(workspace.folder, "run", "tiny.toml", "--method", half).returncode == 0
        done = on_a_disk(
            workspace, "size=50m", "cp -r *.toml *.db mount; mount -o remount,ro mount", "run", "tiny.toml"
        )
        problems = no_refusal(done) + workspace.differences() + workspace.run_again()
        yield "cannot be written" in done.stderr, problems


def on_a_disk(
    workspace: Workspace, options: str, prepare: str, *arguments: str, **extra: str
) -> "subprocess.CompletedProcess[str]":
    """Run the command on a file system of its own, and move the workspace to a copy of it."""
    folder = workspace.folder
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
    workspace.folder = Path(shutil.copytree(folder / "kept", folder / "mount", dirs_exist_ok=True))
    return done


def _prepare_on_a_full_disk(
    workspace: Workspace, size: int, undamaged: dict[str, bytes], arguments: tuple[str, ...], **extra: str
) -> tuple[int, list[str]]:
    done = on_a_disk(workspace, f"size={size}", "true", *arguments, **extra)
    data_set = workspace.folder / "lastfm"
    problems = wrong_end(done.returncode, done.stderr, (1, 2))
    problems += ["a partially written data set has its final name"] if (data_set / "manifest.json").exists() else []
    again = fedbandit(workspace.folder, *arguments, **extra)
    problems += wrong_end(again.returncode, again.stderr)
    problems += [] if bytes_of(data_set) == undamaged else ["different bytes than undisturbed"]
    return "No space left" in done.stderr, problems
