"""A real MLflow server that returns 500, hangs, closes connections or is slow; and one that dies and is restarted."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random

from tests.benchmark.test_cluster import Background, background, free_port, wait_for
from tests.chaos.proxy import FAULTS, corrupting
from tests.chaos.sweeps import (
    RUNS_PER_SEED,
    differences,
    error_output,
    last_line,
    new_folder,
    records,
    run_again,
    start,
    traceback_in,
    undisturbed,
    wait_until,
)
from tests.chaos.tally import Tally

SEEDS = 2
TIMEOUT = 2
"""Seconds; with the default, every request that hangs would take 30 s."""


@contextmanager
def server(folder: Path, port: int) -> Iterator[Background]:
    """Run an MLflow server on the database in a folder, with the artifacts next to it."""
    store = ("--backend-store-uri", f"sqlite:///{folder / 'mlflow.db'}", "--workers", "1")
    artifacts = ("--artifacts-destination", str(folder / "artifacts"))
    with background(folder, "mlflow", "server", "--port", str(port), *store, *artifacts) as process:
        wait_for(f"http://127.0.0.1:{port}")
        yield process


def corrupt_responses(times: int, random: Random, folder: Path) -> Tally:
    """Corrupt responses to requests of every kind, some of them after the server executed the request."""
    tally, workspace, expected = (
        Tally("MLflow server: 500, hangs, hangs up, slow"),
        new_folder(folder, SEEDS),
        undisturbed(folder),
    )
    port = free_port()
    with (
        server(workspace, port),
        corrupting(port, random, max_faults=times, one_in=2.5, hang_seconds=TIMEOUT + 1) as proxy,
    ):
        store = {"MLFLOW_TRACKING_URI": proxy.address, "MLFLOW_HTTP_REQUEST_TIMEOUT": str(TIMEOUT)}
        code = start(workspace, "run", "tiny.toml", "--jobs", "1", **store).wait(400)
        problems = [] if code == 0 else [f"exit code {code}: {last_line(error_output(workspace))}"]
        problems += traceback_in(error_output(workspace)) + differences(workspace, expected, runs=SEEDS * RUNS_PER_SEED)
        problems += run_again(
            workspace, expected, SEEDS * RUNS_PER_SEED, MLFLOW_TRACKING_URI=f"http://127.0.0.1:{port}"
        )
        problems += [f"no request met the fault: {fault}" for fault in FAULTS if not proxy.injected[fault]]
    tally.count(proxy.injected.total(), problems)
    return tally


def kill_server(times: int, random: Random, folder: Path) -> Tally:
    """Send SIGKILL to the server during a sweep, and restart it."""
    tally, workspace, expected = Tally("MLflow server dies"), new_folder(folder, SEEDS), undisturbed(folder)
    port = free_port()
    store = {"MLFLOW_TRACKING_URI": f"http://127.0.0.1:{port}", "MLFLOW_HTTP_REQUEST_TIMEOUT": str(TIMEOUT)}
    killed = 0
    with ExitStack() as stack:
        running = stack.enter_context(server(workspace, port))
        process = start(workspace, "run", "tiny.toml", "--jobs", "1", **store)
        for _ in range(times):
            count = records(workspace)
            if not wait_until(process, lambda count=count: records(workspace) > count + 1):  # type: ignore[misc]
                break
            time.sleep(random.uniform(0, 0.3))
            running.kill()
            killed += process.poll() is None
            running = stack.enter_context(server(workspace, port))
        code = process.wait(240)
        problems = [] if code == 0 else [f"exit code {code}: {last_line(error_output(workspace))}"]
        problems += traceback_in(error_output(workspace)) + run_again(
            workspace, expected, SEEDS * RUNS_PER_SEED, **store
        )
    tally.count(killed, problems)
    return tally
