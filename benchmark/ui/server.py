"""The MLflow UI on this machine: on loopback by default, opened on the chart view of an experiment."""

import ipaddress
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import requests
from mlflow import MlflowClient
from mlflow.entities import Experiment

from benchmark.records.reader import experiments_with_runs
from benchmark.records.search import newest_sweeps
from benchmark.records.store import ARTIFACTS, Store, single_writer_lock
from benchmark.records.tracking import TELEMETRY_OFF, StoreError, absolute_uri, sqlite_file
from benchmark.ui.app import ROOT_VARIABLE
from benchmark.ui.chart_views import chart_link
from benchmark.ui.pages import OVERVIEW, update_pages
from data_pipelines.support.messages import unknown_name
from data_pipelines.support.secrets import without_secrets, without_user

LOOPBACK = "127.0.0.1"
NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]{0,252}[A-Za-z0-9])?")
WARNING = """\
warning: --host {host}: anyone who can reach this machine can read, change and delete all runs without a password.
  To require passwords, use MLflow's own server: pip install 'mlflow[auth]'; set MLFLOW_FLASK_SERVER_SECRET_KEY
  and MLFLOW_AUTH_ADMIN_PASSWORD; mlflow server --app-name basic-auth --backend-store-uri … --allowed-hosts NAME:PORT;
  then set MLFLOW_TRACKING_URI, MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD here. See docs/reliability.md."""
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
    """Return the experiment of this name; without a name, the overview, or in an older store the latest experiment."""
    _refuse_missing_database(store)
    client = MlflowClient(absolute_uri(store))
    experiments = {each.name: each for each in client.search_experiments() if each.name != "Default"}
    if not experiments:
        raise ValueError(f"no experiments in {without_user(store)} yet; run `fedbandit run` first")
    if name is None:
        return experiments.get(OVERVIEW) or _latest(client, [*experiments.values()])
    if name not in experiments:
        raise unknown_name("experiment", name, experiments)
    return experiments[name]


def _latest(client: MlflowClient, experiments: Sequence[Experiment]) -> Experiment:
    """Return the experiment of the latest sweep."""
    by_id = {experiment.experiment_id: experiment for experiment in experiments}
    sweeps = newest_sweeps(client, [*by_id])
    return by_id[sweeps[0].info.experiment_id] if sweeps else experiments[0]


def _refuse_missing_database(store: str) -> None:
    """Raise a ValueError for a missing database, which MLflow would otherwise create."""
    file = sqlite_file(store)
    if file is not None and not file.is_file():
        raise ValueError(f"no results yet ({file} does not exist); run `fedbandit run` first")


def landing_link(experiment: Experiment, base_url: str) -> str:
    """Return the address of an experiment's chart, or of the table of the overview."""
    return chart_link(base_url, experiment.experiment_id, mode="TABLE" if experiment.name == OVERVIEW else "CHART")


def prepare_pages(uri: str) -> None:
    """Bring the pages of a SQLite file up to date, as after a sweep, unless a sweep is writing to it now."""
    store = Store(uri)
    if sqlite_file(uri) is None:
        return
    names = [*experiments_with_runs(store)]
    try:
        with single_writer_lock(store):
            update_pages(store, names)
    except StoreError:  # another sweep is writing: it updates the pages when it ends
        return


def check_host(host: str) -> None:
    """Raise a ValueError unless `host` is an address of this machine."""
    try:
        if not (NAME.fullmatch(host) or _address(host)):
            raise ValueError
        family, kind, _, _, address = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as probe:
            probe.bind(address)
    except (OSError, ValueError):
        raise ValueError(f"--host must be an address of this machine, such as 127.0.0.1, got {host!r}") from None


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach a host."""
    address = _address(host)
    return host == "localhost" if address is None else address.is_loopback


def allowed_hosts(host: str, port: int) -> str:
    """Return the value of `--allowed-hosts`: all names of this machine that lead to this host, and no others.

    MLflow's own list contains patterns such as `10.*`, which also match `10.attacker.example`: an attacker's page could
    then read the runs through the browser of a user of this machine (DNS rebinding).
    """
    names = {"localhost", LOOPBACK, _bracketed(host)}
    if not is_loopback(host):
        names |= {socket.gethostname(), socket.getfqdn()}
    address = _address(host)
    if address is not None and address.is_unspecified:
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
    if address is not None and address.is_unspecified:
        host = LOOPBACK if address.version == 4 else "::1"
    return f"http://{_bracketed(host)}:{port}"


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def free_port(first: int = FIRST_PORT, host: str = LOOPBACK) -> int:
    """Return the first free port, starting at `first`."""
    last = min(first + PORTS_TRIED, 65_536) - 1
    for port in range(first, last + 1):
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
            except OSError:
                continue
            return port
    raise ValueError(f"no free port from {first} to {last}")


def artifact_root(store: str) -> Path:
    """Return the folder of the artifacts that the UI serves: next to a SQLite file, or in the working directory."""
    file = sqlite_file(store)
    return (Path.cwd() if file is None else file.parent) / ARTIFACTS


def server_command(port: int, root: Path, host: str = LOOPBACK) -> list[str]:
    """Return the command that starts MLflow's server, which refuses requests for other hosts."""
    options = {
        "--app-name": APPLICATION,
        "--artifacts-destination": str(root),
        "--host": host,
        "--port": str(port),
        "--workers": "1",
        "--allowed-hosts": allowed_hosts(host, port),
    }
    return [sys.executable, "-m", "mlflow", "server", *(part for pair in options.items() for part in pair)]


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
    """Run MLflow's server until the block ends, and yield it once it is ready."""
    with _signals_as_interrupts(), log.open("wb") as output:
        # The server gets its own session: Ctrl-C only reaches this process, which then ends all of the server's
        # processes. The store is not on the command line, because every user of this machine can read command lines,
        # and its address may contain a password.
        root = artifact_root(store)
        environment = {name: value for name, value in os.environ.items() if name not in UNSAFE_VARIABLES}
        process = subprocess.Popen(
            server_command(port, root, host),
            env={**environment, **ENVIRONMENT, "MLFLOW_BACKEND_STORE_URI": store, ROOT_VARIABLE: str(root)},
            stdin=subprocess.DEVNULL,
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
    for number, seconds in ((signal.SIGTERM, SECONDS_TO_STOP), (signal.SIGKILL, None)):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            break
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            continue
    process.wait()


@contextmanager
def _signals_as_interrupts() -> Iterator[None]:
    """Treat SIGTERM and SIGHUP like Ctrl-C, so that the server is stopped as well."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    previous = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
