"""The pages only accept requests for their own names, and listen on loopback by default."""

import http.client
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from benchmark.__main__ import main
from benchmark.ui.server import LOOPBACK, Server, allowed_hosts, is_loopback
from tests.benchmark.test_cluster import free_port

pytestmark = pytest.mark.slow

FOREIGN = ("10.attacker.example", "192.168.evil.com", "172.16.evil.com", "evil.example", "localhost.evil.example")
FOREIGN += (
    "127.0.0.1.evil.example",
    "fc00:evil",
    "[fd00:evil::1]",
    "[::ffff:10.0.0.1]",
    "[::1]",
    "0.0.0.0",
    "10.0.0.1",
)
PATHS = ("/", "/ajax-api/2.0/mlflow/experiments/search?max_results=1", "/get-artifact?path=x&run_uuid=y", "/graphql")
PATHS += ("/health", "/version")
SEARCH = PATHS[1]


def port_of(server: Server) -> int:
    return int(server.address.rpartition(":")[2])


def status(port: int, path: str, host: str, *, method: str = "GET", **headers: str) -> int:
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
def test_requests_for_another_host_get_403(server: Server, host: str):
    port = port_of(server)
    codes = {(path, name): status(port, path, name) for path in PATHS for name in (host, f"{host}:{port}")}
    assert set(codes.values()) == {403}


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_the_machines_own_names_are_accepted_only_with_the_right_port(server: Server, name: str):
    port = port_of(server)
    assert status(port, SEARCH, f"{name}:{port}") == 200
    assert status(port, SEARCH, f"{name}:{port % 65_535 + 1}") == 403
    assert status(port, SEARCH, f"evil.example@{name}:{port}") == 403


def test_a_page_of_another_origin_cannot_change_anything(server: Server):
    port, path = port_of(server), "/ajax-api/2.0/mlflow/experiments/set-experiment-tag"
    for origin in ("http://evil.example", "http://10.attacker.example", "null"):
        headers = {"Origin": origin, "Content_Type": "application/json", "Content_Length": "2"}
        assert status(port, path, f"{LOOPBACK}:{port}", method="POST", **headers) == 403, origin


def test_the_store_is_not_on_the_command_line(server: Server):
    if not Path("/proc").is_dir():
        pytest.skip("NOT RUN: this system has no /proc")
    command_line = Path(f"/proc/{server.process.pid}/cmdline").read_bytes()
    assert b"mlflow" in command_line
    assert b"sqlite" not in command_line


def test_telemetry_is_off_in_the_server(server: Server):
    if not Path("/proc").is_dir():
        pytest.skip("NOT RUN: this system has no /proc")
    environment = Path(f"/proc/{server.process.pid}/environ").read_bytes().split(b"\0")
    assert {b"MLFLOW_DISABLE_TELEMETRY=true", b"DO_NOT_TRACK=true"} <= set(environment)


@contextmanager
def ui(folder: Path, *options: str) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """Run `fedbandit ui` as a user does; yield the link that it prints, and the process."""
    command = [sys.executable, "-m", "benchmark", "ui", "--no-browser", "--port", str(free_port()), *options]
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
        process.wait(60)


def test_with_a_public_host_it_warns_explains_passwords_and_accepts_only_its_own_names_until_ctrl_c(shown_store: Path):
    with ui(shown_store, "--host", "0.0.0.0") as (link, process):
        assert "/runs?viewStateShareKey=fedbandit-communication&compareRunsMode=TABLE&workflowType=machine" in link
        port = int(link.partition("/#/")[0].rpartition(":")[2])
        with socket.socket() as probe:
            probe.settimeout(5)
            assert probe.connect_ex(("127.0.0.2", port)) == 0  # on every address, as requested
        assert status(port, SEARCH, f"{socket.gethostname()}:{port}") == 200
        assert status(port, SEARCH, f"{LOOPBACK}:{port}") == 200
        for host in ("10.attacker.example", "192.168.evil.com", "evil.example", "0.0.0.0", "10.255.255.254"):
            assert status(port, SEARCH, host) == 403
            assert status(port, SEARCH, f"{host}:{port}") == 403
    assert process.returncode == 0
    with pytest.raises(ConnectionRefusedError):
        status(port, SEARCH, LOOPBACK)
    _, errors = process.communicate()
    assert errors.startswith("warning: --host 0.0.0.0: anyone who can reach this machine can read, change and delete")
    for word in ("mlflow[auth]", "basic-auth", "MLFLOW_FLASK_SERVER_SECRET_KEY", "MLFLOW_AUTH_ADMIN_PASSWORD"):
        assert word in errors


@pytest.mark.parametrize(
    "host", ["evil.example,*", "*", "", "-x", "203.0.113.7", "no such host", "127.0.0.1:80", "a" * 300]
)
def test_a_host_of_another_machine_is_refused(host: str, capsys: pytest.CaptureFixture[str]):
    assert main(["ui", f"--host={host}"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("fedbandit: error: --host must be an address of this machine")
    assert error.count("\n") == 1


def test_allowed_hosts_are_names_and_not_patterns():
    assert allowed_hosts(LOOPBACK, 5000) == "127.0.0.1:5000,localhost:5000"
    for host in ("0.0.0.0", "::", "::1", LOOPBACK):
        assert "*" not in allowed_hosts(host, 5000)
    assert "[::1]:5000" in allowed_hosts("::1", 5000)
    assert [
        is_loopback(host) for host in ("127.0.0.1", "127.9.9.9", "::1", "localhost", "0.0.0.0", "::", "10.0.0.1")
    ] == [True, True, True, True, False, False, False]


def test_the_server_ends_with_a_command_that_is_killed(shown_store: Path):
    with ui(shown_store) as (link, process):
        port = int(link.partition("/#/")[0].rpartition(":")[2])
        assert status(port, SEARCH, f"{LOOPBACK}:{port}") == 200
        process.kill()
        process.communicate()
        for _ in range(300):
            with socket.socket() as probe:
                if probe.connect_ex((LOOPBACK, port)) != 0:
                    break
            time.sleep(0.1)
        else:
            pytest.fail("the server still listens")
