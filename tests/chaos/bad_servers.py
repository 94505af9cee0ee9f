"""A real MLflow server that dies and is restarted, or behind a proxy that corrupts some of its responses.

It returns 500, hangs, closes connections or is slow, as drawn from a seed.
"""

import http.client
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random

from benchmark.records.reader import read
from benchmark.records.record import RunRecord
from benchmark.records.tracking import StoreError
from tests.benchmark.postgresql import cluster
from tests.benchmark.test_cluster import Background, background, free_port, wait_for
from tests.benchmark.tiny_sweeps import TIMES, fedbandit
from tests.chaos.sweeps import Faults, Workspace, wait_until, wrong_end

SEEDS = 2
TIMEOUT = 2
"""Seconds; with the default, every request that hangs would take 30 s."""
ONE_IN = 2.5
"""From the first run on, one in this many requests meets a fault."""
FAULTS = (
    "returns 500",
    "executes, then returns 500",
    "closes the connection",
    "executes, then closes the connection",
    "hangs",
    "is slow",
)
CREATE = "/runs/create"


@contextmanager
def server(folder: Path, port: int) -> Iterator[Background]:
    """Run an MLflow server on the database in a folder, with the artifacts next to it."""
    store = ("--backend-store-uri", f"sqlite:///{folder / 'mlflow.db'}", "--workers", "1")
    artifacts = ("--artifacts-destination", str(folder / "artifacts"))
    with background(folder, "mlflow", "server", "--port", str(port), *store, *artifacts) as process:
        wait_for(f"http://127.0.0.1:{port}")
        yield process


def sweep_on(address: str) -> dict[str, str]:
    """Return the settings of a sweep that records on a server."""
    return {"MLFLOW_TRACKING_URI": address, "MLFLOW_HTTP_REQUEST_TIMEOUT": str(TIMEOUT)}


def corrupt_responses(times: int, random: Random, folder: Path) -> Faults:
    """Corrupt responses to requests of every kind, some of them after the server executed the request."""
    workspace, port = Workspace(folder, SEEDS), free_port()
    with server(workspace.folder, port), Proxy(port, random, times) as proxy:
        threading.Thread(target=proxy.serve_forever, args=(0.05,), daemon=True).start()
        process = workspace.sweep(1, **sweep_on(f"http://127.0.0.1:{proxy.server_port}"))
        problems = workspace.wrong_end(process, seconds=400) + workspace.differences(workspace.runs)
        problems += workspace.run_again(**sweep_on(f"http://127.0.0.1:{port}"))
        problems += [f"no request met the fault: {fault}" for fault in FAULTS if not proxy.injected[fault]]
        proxy.shutdown()
    yield proxy.injected.total(), problems


def kill_server(times: int, random: Random, folder: Path) -> Faults:
    """Send SIGKILL to the server during a sweep, and restart it."""
    workspace, port, killed = Workspace(folder, SEEDS), free_port(), 0
    store = sweep_on(f"http://127.0.0.1:{port}")
    with ExitStack() as stack:
        running = stack.enter_context(server(workspace.folder, port))
        process = workspace.sweep(1, **store)
        for _ in range(times):
            if not workspace.wait_for_records(process, more=2):
                break
            time.sleep(random.uniform(0, 0.3))
            running.kill()
            killed += process.poll() is None
            running = stack.enter_context(server(workspace.folder, port))
        yield killed, workspace.wrong_end(process) + workspace.run_again(**store)


def crash_postgresql(times: int, random: Random, folder: Path) -> Faults:
    """Let PostgreSQL crash during a sweep that records in it, and start it again."""
    workspace, crashed = Workspace(folder, SEEDS), 0
    expected = {run.key: _content(run) for run in _undisturbed(folder)}
    with cluster() as (address, crash):
        uri = f"postgresql+psycopg2://fedbandit@{address}"
        process = workspace.sweep(1, MLFLOW_TRACKING_URI=uri)
        for number in range(times):
            if not wait_until(process, lambda number=number: len(_finished(uri)) > 2 * number):  # type: ignore[misc]
                break
            time.sleep(random.uniform(0, 0.3))
            was_alive = process.poll() is None
            crash()
            crashed += was_alive
        problems = workspace.wrong_end(process, (0, 1))
        done = fedbandit(workspace.folder, "run", "tiny.toml", MLFLOW_TRACKING_URI=uri)
        problems += wrong_end(done.returncode, done.stderr)
        runs = _finished(uri)
        problems += [f"run {run.key[:8]} is different" for run in runs if _content(run) != expected.get(run.key)]
        problems += [] if len({run.key for run in runs}) == len(runs) else ["a run is doubled"]
        problems += [] if len(runs) == workspace.runs else [f"{len(runs)} of {workspace.runs} runs are finished"]
        yield crashed, problems


def _undisturbed(folder: Path) -> list[RunRecord]:
    workspace = Workspace(folder, SEEDS)
    assert fedbandit(workspace.folder, "run", "tiny.toml").returncode == 0
    return _finished(f"sqlite:///{workspace.folder / 'mlflow.db'}")


def _finished(uri: str) -> list[RunRecord]:
    try:
        return [run for run in read(uri, ["tiny"]) if run.status == "FINISHED"]
    except StoreError:  # it is starting again
        return []


def _content(run: RunRecord) -> tuple[str, dict[str, float]]:
    return run.choices, {name: value for name, value in run.metrics.items() if name not in TIMES}


class Proxy(ThreadingHTTPServer):
    """Forwards requests to `port`, until it has injected `max_faults` faults with some of them."""

    daemon_threads = True

    def __init__(self, port: int, random: Random, max_faults: int) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.port, self.random, self.max_faults = port, random, max_faults
        self.injected: Counter[str] = Counter()
        self.is_armed = False
        self._lock = threading.Lock()

    def next_fault(self, path: str) -> str:
        """Return the fault for this request, or an empty text. The kinds alternate."""
        with self._lock:
            self.is_armed |= CREATE in path
            remaining = self.max_faults - self.injected.total()
            if not self.is_armed or remaining <= 0 or self.random.random() > 1 / ONE_IN:
                return ""
            fault = FAULTS[self.injected.total() % len(FAULTS)]
            self.injected[fault] += 1
            return fault

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore clients that disconnect."""


class Handler(BaseHTTPRequestHandler):
    """Handles one request: forwards it, or not, and responds, or not."""

    protocol_version = "HTTP/1.1"
    server: Proxy

    def log_message(self, format: str, *arguments: object) -> None:
        """Print nothing."""

    def do_GET(self) -> None:
        fault = self.server.next_fault(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        time.sleep({"hangs": TIMEOUT + 1, "is slow": 0.4}.get(fault, 0))
        response = (500, b'{"error_code": "INTERNAL_ERROR", "message": "corrupted"}', "application/json")
        if fault not in ("returns 500", "closes the connection", "hangs"):
            forwarded = self._forward(body)
            response = response if "500" in fault else forwarded
        if fault.endswith(("closes the connection", "hangs")):
            self.close_connection = True
            return
        self.send_response(response[0])
        self.send_header("Content-Type", response[2])
        self.send_header("Content-Length", str(len(response[1])))
        self.end_headers()
        self.wfile.write(response[1])

    do_POST = do_PUT = do_PATCH = do_DELETE = do_GET

    def _forward(self, body: bytes) -> tuple[int, bytes, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        headers = {name: value for name, value in self.headers.items() if name.lower() not in ("host", "connection")}
        try:
            connection.request(self.command, self.path, body, {**headers, "Host": f"127.0.0.1:{self.server.port}"})
            response = connection.getresponse()
            return response.status, response.read(), response.headers.get("Content-Type", "text/plain")
        except OSError:
            return 502, b"no server", "text/plain"
        finally:
            connection.close()
