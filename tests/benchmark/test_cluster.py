"""Real Dask workers on loopback; a real MLflow server, killed and restarted."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest
import requests
from distributed import Client, LocalCluster

from benchmark.plan.run_key import ENGINE_VERSION
from benchmark.records.provenance import OUR_PACKAGES
from benchmark.records.reader import finished_runs
from benchmark.records.store import Store
from tests.benchmark.tiny_sweeps import (
    RUNS,
    Command,
    environment,
    results,
    rows,
    statuses,
    write_tiny,
)

pytestmark = pytest.mark.slow

OWN = """
from dataclasses import dataclass
from algorithms import Transfers

@dataclass
class Last:
    def choose(self, client, contexts, rng):
        from helper import last
        return last(contexts)
    def learn(self, client, context, reward):
        return Transfers()
"""

HELPER = "def last(contexts):\n    return len(contexts) - 1\n"


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


class Background:
    """A command in a session of its own: a server has children, and only with them is it gone."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process, self.pid = process, process.pid

    def kill(self) -> None:
        """End it at once, with all its children."""
        self._signal(signal.SIGKILL)
        self._process.wait()

    def stop(self) -> None:
        """End it, gently at first."""
        self._signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(10)
        self.kill()

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)


@contextmanager
def background(folder: Path, *arguments: str, **extra: str) -> Iterator[Background]:
    # The background jobs of MLflow's server, which we do not use, would start seven more processes.
    quiet = environment(MLFLOW_SERVER_ENABLE_JOB_EXECUTION="false", **extra)
    with (folder / f"{arguments[1].replace('/', '-')}.log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", *arguments], cwd=folder, env=quiet, stdout=log, stderr=log, start_new_session=True
        )
        started = Background(process)
        try:
            yield started
        finally:
            started.stop()


@contextmanager
def worker(folder: Path, address: str, *options: str, **extra: str) -> Iterator[Background]:
    folder.mkdir()
    usual = ("--nthreads", "1", "--no-dashboard", "--local-directory", str(folder))
    with background(folder, "dask", "worker", address, *usual, *(options or ("--no-nanny",)), **extra) as process:
        yield process


def stale_code(folder: Path) -> str:
    """A copy of our packages with another engine version, for PYTHONPATH, where it comes before the installed one."""
    for package in OUR_PACKAGES:
        shutil.copytree(Path(__file__).parents[2] / package, folder / package, ignore=lambda *_: ["__pycache__"])
    file = folder / "benchmark" / "plan" / "run_key.py"
    file.write_text(file.read_text().replace(f"ENGINE_VERSION = {ENGINE_VERSION}", "ENGINE_VERSION = 999"))
    return str(folder)


@contextmanager
def scheduler(workers: int = 0) -> Iterator[str]:
    """A scheduler in this process, with workers in its threads."""
    cluster = LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=False, protocol="tcp", dashboard_address="127.0.0.1:0"
    )
    with cluster:
        yield cluster.scheduler_address


@contextmanager
def in_the_middle(act: Callable[[], object], is_reached: Callable[[], bool]) -> Iterator[None]:
    """Do something in another thread as soon as the block has reached something, which it must before it ends."""
    has_ended, done = threading.Event(), []

    def wait() -> None:
        while not is_reached():
            if has_ended.wait(0.01):
                return
        act()
        done.append(not has_ended.is_set())

    thread = threading.Thread(target=wait)
    thread.start()
    try:
        yield
    finally:
        has_ended.set()
        thread.join()
    assert done == [True], "the sweep was not in the middle"


def has_metrics(folder: Path, count: int) -> bool:
    return bool(rows(folder, "select count(*) from metrics")[0][0] >= count)


def test_a_dask_cluster_gives_the_same_results_even_if_a_worker_is_killed_and_one_has_other_code(
    tmp_path: Path, fedbandit_here: Command
):
    here, there = tmp_path / "local", tmp_path / "dask"
    for folder in (here, there):
        folder.mkdir()
        write_tiny(folder, steps=20_000)
        (folder / "own.py").write_text(OWN)
        (folder / "helper.py").write_text(HELPER)
    arguments = ("run", "tiny.toml", "--method", "own:Last")
    assert fedbandit_here(here, *arguments).returncode == 0
    with (
        scheduler() as address,
        worker(tmp_path / "first", address) as first,
        worker(tmp_path / "second", address),
        worker(tmp_path / "third", address, PYTHONPATH=stale_code(tmp_path / "stale")),
    ):
        with Client(address, set_as_default=False) as client:
            client.wait_for_workers(3, timeout=200)
        with in_the_middle(first.kill, lambda: has_metrics(there, 200)):
            done = fedbandit_here(there, *arguments, "--executor", "dask", "--scheduler", address)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("is not used") == 1
    refusal = f"is not used: its engine version is 999, expected {ENGINE_VERSION}, its source hash is"
    assert refusal in " ".join(done.stderr.split())
    assert statuses(there) == {"FINISHED": RUNS + 2}
    assert results(there) == results(here)
    engines = rows(there, "select distinct value from tags where key = 'fedbandit.engine_version'")
    assert engines == [(str(ENGINE_VERSION),)]


def test_a_dead_dask_scheduler_gives_a_one_line_error_and_the_sweep_can_be_resumed(
    tmp_path: Path, fedbandit_here: Command
):
    write_tiny(tmp_path, steps=20_000)
    address = f"tcp://127.0.0.1:{free_port()}"
    with (
        background(tmp_path, "dask", "scheduler", "--host", address, "--no-dashboard") as scheduler,
        worker(tmp_path / "first", address),
        in_the_middle(scheduler.kill, lambda: has_metrics(tmp_path, 400)),
    ):
        done = fedbandit_here(tmp_path, "run", "tiny.toml", "--executor", "dask", "--scheduler", address)
    assert done.returncode == 2
    assert "lost the connection to the Dask scheduler" in done.stderr.splitlines()[-1]
    assert done.stderr.endswith("finished runs are saved; run the same command again to continue\n")
    assert "Traceback" not in done.stderr
    assert "RUNNING" not in statuses(tmp_path)
    before = results(tmp_path)
    assert before
    assert fedbandit_here(tmp_path, "run", "tiny.toml").returncode == 0
    after = results(tmp_path)
    assert len(after) == RUNS
    assert before.items() <= after.items()


@pytest.fixture
def server_command(tmp_path: Path) -> tuple[str, tuple[str, ...]]:
    port = free_port()
    store = ("--backend-store-uri", f"sqlite:///{tmp_path / 'server.db'}", "--workers", "1")
    artifacts = ("--artifacts-destination", str(tmp_path / "artifacts"))
    return f"http://127.0.0.1:{port}", ("mlflow", "server", "--port", str(port), *store, *artifacts)


def wait_for(address: str) -> None:
    for _ in range(3_000):
        try:
            if requests.get(f"{address}/health", timeout=5).ok:
                return
        except requests.RequestException:
            pass
        time.sleep(0.1)
    raise AssertionError("the MLflow server does not start")


def test_a_sweep_survives_a_restart_of_the_tracking_server(
    tmp_path: Path, server_command: tuple[str, tuple[str, ...]], fedbandit_here: Command
):
    address, arguments = server_command
    write_tiny(tmp_path)
    store, before = Store(address), set[str]()
    with ExitStack() as stack:
        server = stack.enter_context(background(tmp_path, *arguments))
        wait_for(address)

        def is_reached() -> bool:
            before.update(run.key for run in finished_runs(store, ["tiny"]))
            return len(before) > 2

        def restart() -> None:
            server.kill()
            stack.enter_context(background(tmp_path, *arguments))

        with in_the_middle(restart, is_reached):
            done = fedbandit_here(tmp_path, "run", "tiny.toml", MLFLOW_TRACKING_URI=address)
        assert done.returncode == 0, done.stderr
        assert f"{address}/#/experiments/" in done.stdout
        after = [run.key for run in finished_runs(store, ["tiny"])]
        assert len(after) == len(set(after)) == RUNS
        assert before <= set(after)
        run_id = finished_runs(store, ["tiny"])[0].run_id
        names = {each.path for each in store.client.list_artifacts(run_id)}
        assert names == {"clients.parquet", "curve.parquet"}
        assert "Nothing to do" in fedbandit_here(tmp_path, "run", "tiny.toml", MLFLOW_TRACKING_URI=address).stdout
