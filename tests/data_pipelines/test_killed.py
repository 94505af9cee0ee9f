"""If the process is killed at any time, running it again gives the same bytes as an undisturbed run."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from data_pipelines.fetch.sources import PreparationOptions
from data_pipelines.prepare.readiness import make_ready
from tests.data_pipelines.tls_server import Handler, Server, whole

pytestmark = pytest.mark.slow

COMMAND = (sys.executable, "-m", "benchmark", "data")
HERE = Path(__file__).parent


def start(folder: Path, *arguments: str) -> "subprocess.Popen[bytes]":
    environment = {**os.environ, "FEDBANDIT_DATA": str(folder)}
    return subprocess.Popen([*COMMAND, *arguments], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def finish(folder: Path, *names: str, **options: Any) -> None:
    """Prepare data sets in this process."""
    for name in names:
        assert make_ready(name, PreparationOptions(folder=folder, **options)).manifest is not None


def count_files(folder: Path) -> int:
    """Count files and folders while another process creates and removes them, where `rglob` may raise an error."""
    return sum(len(folders) + len(files) for _, folders, files in os.walk(folder))


def kill_at(files: int, folder: Path, *arguments: str) -> bool:
    """Kill the command once its folder has so many files; return whether it was still running."""
    process = start(folder, *arguments)
    while process.poll() is None and count_files(folder) < files:
        time.sleep(0.002)
    is_running = process.poll() is None
    process.kill()
    process.communicate()
    return is_running


def prepared_bytes(folder: Path, *names: str) -> dict[str, bytes]:
    return {f"{name}/{path.name}": path.read_bytes() for name in names for path in sorted((folder / name).iterdir())}


def test_a_command_killed_at_three_stages_ends_with_the_same_files(tmp_path: Path):
    names = ("lastfm", "delicious", "movielens")
    finish(tmp_path / "undisturbed", *names, stand_in="small")
    expected = prepared_bytes(tmp_path / "undisturbed", *names)
    files = count_files(tmp_path / "undisturbed")
    deaths = 0
    for stage in (1, files // 3, 2 * files // 3):
        deaths += kill_at(stage, tmp_path / "killed", *names, "--stand-in", "--size", "small")
    assert deaths >= 2
    finish(tmp_path / "killed", *names, stand_in="small")
    assert prepared_bytes(tmp_path / "killed", *names) == expected


def test_a_process_that_dies_at_any_disk_access_leaves_no_damage(tmp_path: Path, mirror: Path):
    script = HERE / "dies_at_every_step.py"
    process = subprocess.run(
        [sys.executable, script, tmp_path, mirror],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert process.returncode == 0, process.stderr[-2_000:]
    assert int(process.stdout) > 20


@pytest.mark.usefixtures("server")
def test_a_download_killed_halfway_is_resumed_and_ends_with_the_same_files(
    server: Server, mirror: Path, tmp_path: Path
):
    content = (mirror / "hetrec2011-delicious-2k.zip").read_bytes()
    half_is_sent = threading.Event()

    def send_half(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(content)))
        handler.send_header("ETag", '"1"')
        handler.end_headers()
        handler.wfile.write(content[: len(content) // 2])
        handler.wfile.flush()
        half_is_sent.set()
        handler.server.is_over.wait(30)

    server.behaviours = [whole(content)]
    finish(tmp_path / "undisturbed", "delicious", mirror=server.address)
    server.behaviours = [send_half, whole(content)]
    process = start(tmp_path / "killed", "delicious", "--mirror", server.address)
    assert half_is_sent.wait(30)
    part = tmp_path / "killed" / "archives" / "hetrec2011-delicious-2k.zip.part"
    while not part.is_file() or part.stat().st_size < len(content) // 3:
        time.sleep(0.02)
    process.kill()
    process.communicate()
    server.requests.clear()
    finish(tmp_path / "killed", "delicious", mirror=server.address)
    assert server.requests[0][1] is not None  # it requested only the rest
    assert prepared_bytes(tmp_path / "killed", "delicious") == prepared_bytes(tmp_path / "undisturbed", "delicious")
