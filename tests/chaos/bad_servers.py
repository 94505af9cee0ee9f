"""A real MLflow server that answers 500, hangs, hangs up or is slow; and one that dies and comes back."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random

from tests.benchmark.test_cluster import Background, background, free_port, wait_for
from tests.chaos.proxy import FAULTS, spoiling
from tests.chaos.sweeps import (
    RUNS_A_SEED,
    complaints,
    differences,
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
"""Seconds; the default of 30 would make every request that hangs cost as much."""


@contextmanager
def server(folder: Path, port: int) -> Iterator[Background]:
    """Run an MLflow server on the folder's database, with its artifacts beside it."""
    store = ("--backend-store-uri", f"sqlite:///{folder / 'mlflow.db'}", "--workers", "1")
    artifacts = ("--artifacts-destination", str(folder / "artifacts"))
    with background(folder, "mlflow", "server", "--port", str(port), *store, *artifacts) as process:
        wait_for(f"http://127.0.0.1:{port}")
        yield process


def spoil_answers(times: int, random: Random, folder: Path) -> Tally:
    """Answers of every kind of request are spoilt, some of them after the server did what it was asked."""
    tally, place, expected = (
        Tally("MLflow server: 500, hangs, hangs up, slow"),
        new_folder(folder, SEEDS),
        undisturbed(folder),
    )
    port = free_port()
    with server(place, port), spoiling(port, random, most=times, one_in=2.5, hang_seconds=TIMEOUT + 1) as proxy:
        store = {"MLFLOW_TRACKING_URI": proxy.address, "MLFLOW_HTTP_REQUEST_TIMEOUT": str(TIMEOUT)}
        code = start(place, "run", "tiny.toml", "--jobs", "1", **store).wait(400)
        problems = [] if code == 0 else [f"exit code {code}: {last_line(complaints(place))}"]
        problems += traceback_in(complaints(place)) + differences(place, expected, runs=SEEDS * RUNS_A_SEED)
        problems += run_again(place, expected, SEEDS * RUNS_A_SEED, MLFLOW_TRACKING_URI=f"http://127.0.0.1:{port}")
        problems += [f"no answer was spoilt by: {fault}" for fault in FAULTS if not proxy.injected[fault]]
    tally.count(proxy.injected.total(), problems)
    return tally


def kill_server(times: int, random: Random, folder: Path) -> Tally:
    """SIGKILL to the server in mid-sweep; it is started again after a while."""
    tally, place, expected = Tally("MLflow server dies"), new_folder(folder, SEEDS), undisturbed(folder)
    port = free_port()
    store = {"MLFLOW_TRACKING_URI": f"http://127.0.0.1:{port}", "MLFLOW_HTTP_REQUEST_TIMEOUT": str(TIMEOUT)}
    killed = 0
    with ExitStack() as stack:
        running = stack.enter_context(server(place, port))
        process = start(place, "run", "tiny.toml", "--jobs", "1", **store)
        for _ in range(times):
            seen = records(place)
            if not wait_until(process, lambda seen=seen: records(place) > seen + 1):  # type: ignore[misc]
                break
            time.sleep(random.uniform(0, 0.3))
            running.kill()
            killed += process.poll() is None
            running = stack.enter_context(server(place, port))
        code = process.wait(240)
        problems = [] if code == 0 else [f"exit code {code}: {last_line(complaints(place))}"]
        problems += traceback_in(complaints(place)) + run_again(place, expected, SEEDS * RUNS_A_SEED, **store)
    tally.count(killed, problems)
    return tally
