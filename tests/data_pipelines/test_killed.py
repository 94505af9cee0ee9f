"""Whenever the process is killed, running it again gives the bytes of an undisturbed run."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.data_pipelines.tls_server import Handler, Server, whole

COMMAND = (sys.executable, "-m", "benchmark", "data")
HERE = Path(__file__).parent


def start(folder: Path, *arguments: str) -> "subprocess.Popen[bytes]":
    environment = {**os.environ, "FEDBANDIT_DATA": str(folder)}
    return subprocess.Popen([*COMMAND, *arguments], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def finish(folder: Path, *arguments: str) -> None:
    process = start(folder, *arguments)
    _, complaints = process.communicate(timeout=120)
    assert process.returncode == 0, complaints.decode()


def kill_after(seconds: float, folder: Path, *arguments: str) -> bool:
    """Kill the command after some time; return whether it was still running."""
    process = start(folder, *arguments)
    try:
        process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.communicate()
        return True
    return False


def prepared_bytes(folder: Path, *names: str) -> dict[str, bytes]:
    return {f"{name}/{path.name}": path.read_bytes() for name in names for path in sorted((folder / name).iterdir())}


def test_the_command_killed_at_random_moments_ends_with_the_same_files(tmp_path: Path):
    names = ("lastfm", "delicious", "movielens")
    arguments = (*names, "--stand-in", "--size", "small")
    begun = time.monotonic()
    finish(tmp_path / "undisturbed", *arguments)
    duration = time.monotonic() - begun
    expected = prepared_bytes(tmp_path / "undisturbed", *names)
    moments = random.Random(0)
    deaths = 0
    for run in range(3):
        folder = tmp_path / str(run)
        for _ in range(4):
            deaths += kill_after(moments.uniform(0.1, 0.95) * duration, folder, *arguments)
        finish(folder, *arguments)
        assert prepared_bytes(folder, *names) == expected
    assert deaths >= 4


def test_a_process_that_dies_at_any_touch_of_the_disk_leaves_nothing_wrong(tmp_path: Path, stand_ins: Path):
    script = HERE / "dies_at_every_step.py"
    done = subprocess.run(
        [sys.executable, script, tmp_path, stand_ins],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    assert int(done.stdout) > 20


@pytest.mark.usefixtures("server")
def test_a_download_killed_half_way_goes_on_and_ends_with_the_same_files(
    server: Server, stand_ins: Path, tmp_path: Path
):
    content = (stand_ins / "hetrec2011-delicious-2k.zip").read_bytes()
    half_sent = threading.Event()

    def send_half(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(content)))
        handler.send_header("ETag", '"1"')
        handler.end_headers()
        handler.wfile.write(content[: len(content) // 2])
        handler.wfile.flush()
        half_sent.set()
        handler.server.is_over.wait(30)

    server.behaviours = [whole(content)]
    finish(tmp_path / "undisturbed", "delicious", "--mirror", server.address)
    server.behaviours = [send_half, whole(content)]
    process = start(tmp_path / "killed", "delicious", "--mirror", server.address)
    assert half_sent.wait(30)
    part = tmp_path / "killed" / "archives" / "hetrec2011-delicious-2k.zip.part"
    while not part.is_file() or part.stat().st_size < len(content) // 3:
        time.sleep(0.02)
    process.kill()
    process.communicate()
    server.requests.clear()
    finish(tmp_path / "killed", "delicious", "--mirror", server.address)
    assert server.requests[0][1] is not None  # it asked for the rest only
    assert prepared_bytes(tmp_path / "killed", "delicious") == prepared_bytes(tmp_path / "undisturbed", "delicious")
