"""MLflow's own pages on this machine: loopback unless asked otherwise, opened on an experiment's chart view."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import requests
from mlflow import MlflowClient
from mlflow.entities import Experiment

from benchmark.chart_views import ONLY_RUNS, chart_link, save_chart_view
from benchmark.nearest import unknown
from benchmark.telemetry import TELEMETRY_OFF
from benchmark.tracking import sqlite_file
from benchmark.ui_hosts import LOOPBACK, address_to_open, allowed_hosts
from data_pipelines.secrets import without_secrets, without_user

FIRST_PORT = 5000
PORTS_TRIED = 100
SECONDS_TO_START = 60.0
SECONDS_TO_STOP = 5.0
ARTIFACTS = "./mlartifacts"
# Background jobs, of which we have none, would double the server's processes.
ENVIRONMENT = {**TELEMETRY_OFF, "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
OPENING_UP = ("MLFLOW_SERVER_DISABLE_SECURITY_MIDDLEWARE", "MLFLOW_SERVER_CORS_ALLOWED_ORIGINS")
"""What may stand in the environment for another server must not open up this one."""


def is_server(store: str) -> bool:
    """Tell a server, which has pages of its own, from a database."""
    return store.startswith(("http://", "https://"))


def find_experiment(store: str, name: str | None) -> Experiment:
    """Return the experiment of that name, or without a name the one of the latest run."""
    _refuse_missing_database(store)
    client = MlflowClient(store)
    found = {experiment.name: experiment for experiment in client.search_experiments()}
    used = {key: experiment for key, experiment in found.items() if key != "Default"}
    if not used:
        raise ValueError(f"the store {without_user(store)} has no experiments yet; run first: fedbandit run")
    if name is None:
        return _latest(client, used)
    if name not in used:
        raise unknown("experiment", name, used)
    return used[name]


def _latest(client: MlflowClient, experiments: Mapping[str, Experiment]) -> Experiment:
    by_id = {experiment.experiment_id: experiment for experiment in experiments.values()}
    runs = client.search_runs(list(by_id), ONLY_RUNS, order_by=["attributes.start_time DESC"], max_results=1)
    return by_id[runs[0].info.experiment_id] if runs else next(iter(by_id.values()))


def _refuse_missing_database(store: str) -> None:
    """Looking for results must not leave an empty database behind, which MLflow would make."""
    file = sqlite_file(store)
    if file is not None and not file.is_file():
        raise ValueError(f"no results yet, {file} is not there; run first: fedbandit run")


def landing_link(store: str, experiment: Experiment, base_url: str) -> str:
    """Save the experiment's chart view, if it is not there yet, and return the address that opens on it."""
    return chart_link(base_url, experiment.experiment_id, save_chart_view(store, experiment.name))


def free_port(first: int = FIRST_PORT, host: str = LOOPBACK) -> int:
    """Return the first port from there on that nobody listens on."""
    for port in range(first, min(first + PORTS_TRIED, 65_536)):
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
            except OSError:
                continue
            return port
    raise ValueError(f"port is {first}; neither it nor one of the next {PORTS_TRIED} is free")


def server_command(port: int, host: str = LOOPBACK) -> list[str]:
    """Return the command that starts MLflow's server, refusing requests meant for any other host."""
    options = {
        "--artifacts-destination": ARTIFACTS,
        "--host": host,
        "--port": str(port),
        "--workers": "1",
        "--allowed-hosts": allowed_hosts(host, port),
    }
    return [sys.executable, "-m", "mlflow", "server", *(part for pair in options.items() for part in pair)]


@dataclass(frozen=True)
class Server:
    """A server of MLflow that we started."""

    address: str
    process: subprocess.Popen[bytes]
    log: Path

    def wait(self) -> None:
        """Stay until the server ends by itself, which it should not."""
        self.process.wait()
        raise OSError(self._ending())

    def wait_until_it_answers(self) -> None:
        """Return once the pages can be had; raise OSError if that does not happen."""
        deadline = time.monotonic() + SECONDS_TO_START
        with requests.Session() as session:
            session.trust_env = False  # loopback needs no proxy
            while time.monotonic() < deadline:
                if self.process.poll() is not None:
                    raise OSError(self._ending())
                try:
                    if session.get(f"{self.address}/health", timeout=2).ok:
                        return
                except requests.RequestException:
                    time.sleep(0.1)
        raise OSError(f"MLflow's server did not answer at {self.address} within {SECONDS_TO_START:.0f} s")

    def _ending(self) -> str:
        lines = self.log.read_text(errors="replace").splitlines()
        last = next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")
        return f"MLflow's server ended with code {self.process.returncode}: {without_secrets(last)}"


@contextmanager
def running_server(store: str, port: int, log: Path, host: str = LOOPBACK) -> Iterator[Server]:
    """Run MLflow's server until the block ends, and yield it once it answers."""
    with _ended_by_signals(), log.open("wb") as output:
        # A session of its own: Ctrl-C reaches us alone, and we end all of the server's processes. And the store, which
        # may be a database with a password, not on the command line, which everybody on this machine can read.
        environment = {name: value for name, value in os.environ.items() if name not in OPENING_UP}
        process = subprocess.Popen(
            server_command(port, host),
            env={**environment, **ENVIRONMENT, "MLFLOW_BACKEND_STORE_URI": store},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            server = Server(address_to_open(host, port), process, log)
            server.wait_until_it_answers()
            yield server
        finally:
            _stop(process)


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End every process of the server's session, gently at first."""
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
def _ended_by_signals() -> Iterator[None]:
    """Let a polite kill and a closed terminal end us as Ctrl-C does, so that no server is left behind."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
