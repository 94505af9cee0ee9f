"""The MLflow UI on this machine: on loopback by default, opened on the chart view of an experiment."""

import ipaddress
import itertools
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import requests
from mlflow import MlflowClient
from mlflow.entities import Experiment

from benchmark.records.artifacts import ARTIFACTS
from benchmark.records.reader import experiments_with_runs
from benchmark.records.store import Store
from benchmark.records.tracking import TELEMETRY_OFF, StoreError, absolute_uri, single_writer_lock, sqlite_file
from benchmark.ui.app import ROOT_VARIABLE
from benchmark.ui.chart_views import chart_link
from benchmark.ui.pages import OVERVIEW, update_pages
from data_pipelines.support.messages import unknown_name
from data_pipelines.support.secrets import without_secrets, without_user

LOOPBACK = "127.0.0.1"
NAME_OR_ADDRESS = re.compile(r"[A-Za-z0-9.:%-]+")
WARNING = """\
warning: --host {host}: anyone who can reach this machine can read, change and delete all runs without a password.
  To require passwords, use MLflow's own server: pip install 'mlflow[auth]'; set MLFLOW_FLASK_SERVER_SECRET_KEY
  and MLFLOW_AUTH_ADMIN_PASSWORD; mlflow server --app-name basic-auth --backend-store-uri … --allowed-hosts NAME:PORT;
  then set MLFLOW_TRACKING_URI, MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD here. See docs/cluster.md."""
FIRST_PORT = 5000
PORTS_TRIED = 100
SECONDS_TO_START = 60.0
SECONDS_TO_STOP = 5.0
APPLICATION = "fedbandit-ui"
"""The entry point of this package that leads to `benchmark/ui/app.py`."""

# Background jobs are not used here, and would double the number of server processes.
ENVIRONMENT = {**TELEMETRY_OFF, "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
UNSAFE_VARIABLES = (
    "MLFLOW_SERVER_DISABLE_SECURITY_MIDDLEWARE",
    "MLFLOW_SERVER_CORS_ALLOWED_ORIGINS",
    "MLFLOW_DEPLOYMENTS_TARGET",
)
"""Environment variables set for another server must not weaken the protection of this one."""


def is_server(store: str) -> bool:
    """Return whether a store is a server, which has its own UI, and not a database."""
    return store.startswith(("http://", "https://"))


def find_experiment(store: str, name: str | None) -> Experiment:
    """Return the experiment of this name; without a name, the overview, or if it was deleted the newest one."""
    file = sqlite_file(store)
    if file is not None and not file.is_file():  # MLflow would create it
        raise ValueError(f"no results yet ({file} does not exist); run `fedbandit run` first")
    client = MlflowClient(absolute_uri(store))
    experiments = {each.name: each for each in client.search_experiments() if each.name != "Default"}
    if not experiments:
        raise ValueError(f"no experiments in {without_user(store)} yet; run `fedbandit run` first")
    if name is None:
        return experiments.get(OVERVIEW) or next(iter(experiments.values()))
    if name not in experiments:
        raise unknown_name("experiment", name, experiments)
    return experiments[name]


def landing_link(experiment: Experiment, base_url: str) -> str:
    """Return the address of an experiment's chart, or of the table of the overview."""
    return chart_link(base_url, experiment.experiment_id, mode="TABLE" if experiment.name == OVERVIEW else "CHART")


def prepare_pages(uri: str) -> None:
    """Bring the pages of a SQLite file up to date, as after a sweep, unless a sweep is writing to it now."""
    if sqlite_file(uri) is not None:
        store = Store(uri)
        names = [*experiments_with_runs(store)]
        with suppress(StoreError), single_writer_lock(uri):  # a sweep that is writing updates them when it ends
            update_pages(store, names)


def check_host(host: str) -> None:
    """Raise a ValueError unless `host` is an address of this machine."""
    try:
        if not NAME_OR_ADDRESS.fullmatch(host):  # the C library may resolve others, such as * to loopback
            raise ValueError
        with _socket(host) as probe:
            probe.bind((host, 0))
    except (OSError, ValueError):
        raise ValueError(f"--host must be an address of this machine, such as 127.0.0.1, got {host!r}") from None


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach a host."""
    return _address(host).is_loopback


def allowed_hosts(host: str, port: int) -> str:
    """Return the value of `--allowed-hosts`: all names of this machine that lead to this host, and no others.

    MLflow's own list contains patterns such as `10.*`, which also match `10.attacker.example`: an attacker's page could
    then read the runs through the browser of a user of this machine (DNS rebinding).
    """
    names = {"localhost", LOOPBACK, _bracketed(host)}
    if not is_loopback(host):
        names |= {socket.gethostname(), socket.getfqdn()}
    if _address(host).is_unspecified:
        import psutil

        entries = [entry for entries in psutil.net_if_addrs().values() for entry in entries]
        own = {
            entry.address.partition("%")[0] for entry in entries if entry.family in (socket.AF_INET, socket.AF_INET6)
        }
        names = (names | {_bracketed(name) for name in own}) - {_bracketed(host)}
    return ",".join(f"{name}:{port}" for name in sorted(names))


def address_to_open(host: str, port: int) -> str:
    """Return the URL of the UI on this machine."""
    address = _address(host)
    if address.is_unspecified:
        host = LOOPBACK if address.version == 4 else "::1"
    return f"http://{_bracketed(host)}:{port}"


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    return ipaddress.ip_address(socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0][4][0])


def _socket(host: str) -> socket.socket:
    return socket.socket(socket.AF_INET if _address(host).version == 4 else socket.AF_INET6)


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def free_port(first: int = FIRST_PORT, host: str = LOOPBACK) -> int:
    """Return the first free port, starting at `first`."""
    last = min(first + PORTS_TRIED, 65_536) - 1
    for port in range(first, last + 1):
        with _socket(host) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
            except OSError:
                continue
            return port
    raise ValueError(f"no free port from {first} to {last}")


@dataclass(frozen=True)
class Server:
    """An MLflow server that we started."""

    address: str
    process: subprocess.Popen[bytes]
    log: Path

    def wait(self) -> None:
        """Wait until the server ends, and raise OSError: it should not end by itself."""
        self.process.wait()
        raise OSError(self._exit_message())

    def wait_until_ready(self) -> None:
        """Return once the UI is available; raise OSError if it does not become available."""
        deadline = time.monotonic() + SECONDS_TO_START
        with requests.Session() as session:
            session.trust_env = False  # loopback needs no proxy
            while time.monotonic() < deadline:
                if self.process.poll() is not None:
                    raise OSError(self._exit_message())
                try:
                    if session.get(f"{self.address}/health", timeout=2).ok:
                        return
                except requests.RequestException:
                    time.sleep(0.1)
        raise OSError(f"the MLflow server did not respond at {self.address} within {SECONDS_TO_START:.0f} s")

    def _exit_message(self) -> str:
        lines = self.log.read_text(errors="replace").splitlines()
        last = next((line.strip() for line in reversed(lines) if line.strip()), "no output")
        return f"the MLflow server ended with code {self.process.returncode}: {without_secrets(last)}"


@contextmanager
def running_server(store: str, port: int, log: Path, host: str = LOOPBACK) -> Iterator[Server]:
    """Run MLflow's server until the block ends, and yield it once it is ready.

    It refuses requests for other hosts, and serves artifacts from next to a SQLite file, or the working directory.
    """
    file = sqlite_file(store)
    root = str((Path.cwd() if file is None else file.parent) / ARTIFACTS)
    options = {
        "--app-name": APPLICATION,
        "--artifacts-destination": root,
        "--host": host,
        "--port": str(port),
        "--workers": "1",
        "--allowed-hosts": allowed_hosts(host, port),
    }
    environment = {name: value for name, value in os.environ.items() if name not in UNSAFE_VARIABLES}
    with _signals_as_interrupts(), log.open("wb") as output:
        # The server gets its own session: Ctrl-C only reaches this process, which then ends all of the server's
        # processes. The store is not on the command line, because every user of this machine can read command lines,
        # and its address may contain a password.
        process = subprocess.Popen(
            [sys.executable, "-m", "mlflow", "server", *itertools.chain(*options.items())],
            env={**environment, **ENVIRONMENT, "MLFLOW_BACKEND_STORE_URI": store, ROOT_VARIABLE: root},
            stdin=subprocess.PIPE,  # its end tells the server that this process ended: see `end_with_parent`
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            server = Server(address_to_open(host, port), process, log)
            server.wait_until_ready()
            yield server
        finally:
            _stop(process)


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End all processes of the server's session, first with SIGTERM, then with SIGKILL."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError, subprocess.TimeoutExpired):
            os.killpg(process.pid, number)
            process.wait(SECONDS_TO_STOP)
    if process.stdin is not None:
        process.stdin.close()


@contextmanager
def _signals_as_interrupts() -> Iterator[None]:
    """Treat SIGTERM and SIGHUP like Ctrl-C, so that the server is stopped as well."""
    numbers = (signal.SIGTERM, signal.SIGHUP)
    previous = {number: signal.signal(number, signal.default_int_handler) for number in numbers}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
