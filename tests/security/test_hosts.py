"""The pages answer to their own names only, on loopback unless asked otherwise."""

import http.client
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from benchmark.__main__ import main
from benchmark.ui import LOOPBACK, Server, running_server
from benchmark.ui_hosts import allowed_hosts, is_loopback
from tests.benchmark.sweeps import make_store
from tests.benchmark.test_ui import any_free_port

FOREIGN = (
    "10.attacker.example",
    "192.168.evil.com",
    "172.16.evil.com",
    "evil.example",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "fc00:evil",
    "[fd00:evil::1]",
    "[::ffff:10.0.0.1]",
    "[::1]",
    "0.0.0.0",
    "10.0.0.1",
)
PATHS = ("/", "/ajax-api/2.0/mlflow/experiments/search?max_results=1", "/get-artifact?path=x&run_uuid=y", "/graphql")
SEARCH = PATHS[1]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hosts")
    make_store(folder)
    return folder


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Server]:
    with pytest.MonkeyPatch.context() as patch:
        # What opens up another server must not open up ours.
        patch.setenv("MLFLOW_SERVER_DISABLE_SECURITY_MIDDLEWARE", "true")
        patch.setenv("MLFLOW_SERVER_ALLOWED_HOSTS", "*")
        patch.setenv("MLFLOW_SERVER_CORS_ALLOWED_ORIGINS", "*")
        with running_server(f"sqlite:///{folder / 'mlflow.db'}", any_free_port(), folder / "server.log") as server:
            yield server


def port_of(server: Server) -> int:
    return int(server.address.rpartition(":")[2])


def answer(port: int, path: str, host: str, *, method: str = "GET", **headers: str) -> int:
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=20)
    try:
        connection.putrequest(method, path, skip_host=True)
        connection.putheader("Host", host)
        for name, value in headers.items():
            connection.putheader(name.replace("_", "-"), value)
        connection.endheaders(b"{}" if method == "POST" else None)
        return connection.getresponse().status
    finally:
        connection.close()


@pytest.mark.parametrize("host", FOREIGN)
def test_requests_meant_for_another_host_get_403(server: Server, host: str):
    port = port_of(server)
    codes = {(path, name): answer(port, path, name) for path in PATHS for name in (host, f"{host}:{port}")}
    assert set(codes.values()) == {403}


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_its_own_names_get_an_answer_with_its_own_port_only(server: Server, name: str):
    port = port_of(server)
    assert answer(port, SEARCH, f"{name}:{port}") == 200
    assert answer(port, SEARCH, f"{name}:{port % 65_535 + 1}") == 403
    assert answer(port, SEARCH, f"evil.example@{name}:{port}") == 403


def test_a_page_from_elsewhere_cannot_change_anything(server: Server):
    port, path = port_of(server), "/ajax-api/2.0/mlflow/experiments/create"
    for origin in ("http://evil.example", "http://10.attacker.example", "null"):
        code = answer(
            port,
            path,
            f"{LOOPBACK}:{port}",
            method="POST",
            Origin=origin,
            Content_Type="application/json",
            Content_Length="2",
        )
        assert code == 403, origin


def test_the_store_is_not_on_the_command_line(server: Server):
    if not Path("/proc").is_dir():
        pytest.skip("NOT RUN: there is no /proc here")
    shown = Path(f"/proc/{server.process.pid}/cmdline").read_bytes()
    assert b"mlflow" in shown
    assert b"sqlite" not in shown


def test_telemetry_is_off_in_the_server(server: Server):
    if not Path("/proc").is_dir():
        pytest.skip("NOT RUN: there is no /proc here")
    environment = Path(f"/proc/{server.process.pid}/environ").read_bytes().split(b"\0")
    assert {b"MLFLOW_DISABLE_TELEMETRY=true", b"DO_NOT_TRACK=true"} <= set(environment)


@contextmanager
def ui(folder: Path, *options: str) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """`fedbandit ui` as somebody types it, and the link that it prints."""
    command = [sys.executable, "-m", "benchmark", "ui", "--no-browser", "--port", str(any_free_port()), *options]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    environment.pop("MLFLOW_TRACKING_URI", None)
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip(), process
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(20)


def test_for_other_machines_it_warns_says_how_to_have_passwords_and_still_knows_its_names(folder: Path):
    with ui(folder, "--host", "0.0.0.0") as (link, process):
        port = int(link.partition("/#/")[0].rpartition(":")[2])
        with socket.socket() as probe:
            probe.settimeout(5)
            assert probe.connect_ex(("127.0.0.2", port)) == 0  # on every address, as was asked
        assert answer(port, SEARCH, f"{socket.gethostname()}:{port}") == 200
        assert answer(port, SEARCH, f"{LOOPBACK}:{port}") == 200
        for host in ("10.attacker.example", "192.168.evil.com", "evil.example", "0.0.0.0", "10.255.255.254"):
            assert answer(port, SEARCH, host) == 403
            assert answer(port, SEARCH, f"{host}:{port}") == 403
    _, errors = process.communicate()
    assert errors.startswith("warning: --host 0.0.0.0: whoever reaches this machine can read, change and delete")
    for word in (
        "mlflow[auth]",
        "--app-name basic-auth",
        "MLFLOW_FLASK_SERVER_SECRET_KEY",
        "MLFLOW_AUTH_ADMIN_PASSWORD",
    ):
        assert word in errors


@pytest.mark.parametrize(
    "host", ["evil.example,*", "*", "", "-x", "203.0.113.7", "no such host", "127.0.0.1:80", "a" * 300]
)
def test_a_host_that_is_not_of_this_machine_is_refused(host: str, capsys: pytest.CaptureFixture[str]):
    assert main(["ui", f"--host={host}"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("fedbandit: error: --host is ")
    assert error.count("\n") == 1


def test_names_are_written_out_and_hold_no_pattern():
    assert allowed_hosts(LOOPBACK, 5000) == "127.0.0.1:5000,localhost:5000"
    for host in ("0.0.0.0", "::", "::1", LOOPBACK):
        assert "*" not in allowed_hosts(host, 5000)
    assert "[::1]:5000" in allowed_hosts("::1", 5000)
    assert [
        is_loopback(host) for host in ("127.0.0.1", "127.9.9.9", "::1", "localhost", "0.0.0.0", "::", "10.0.0.1")
    ] == [True, True, True, True, False, False, False]
