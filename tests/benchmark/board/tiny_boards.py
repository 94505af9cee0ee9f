"""A tiny task and a protocol with small numbers, for boards that take seconds."""

from pathlib import Path
from typing import Any

from benchmark.board import play as playing
from benchmark.board.board import plan_board
from benchmark.board.result import BoardResult
from benchmark.board.task import Task
from benchmark.execution.sweep import Executor
from benchmark.observer import Observer, silent
from benchmark.plan.method_names import parse_filter
from benchmark.protocol import BenchmarkProtocol, load_protocol
from benchmark.records.store import Store
from data_pipelines.stream_spec import simulated_spec
from tests.benchmark.tiny_sweeps import empty_database

CHANGES: dict[str, Any] = {
    "budgets": {"all": [0.0, 0.3, float("inf")], "primary": [0.3], "slack": 0.97},
    "seeds": {
        "choosing": {"first": 10000, "last": 10002},
        "reporting": {"first": 20, "last": 29},
        "trying": {"first": 0, "last": 9},
    },
    "passes": [
        {"seeds": {"first": 10000, "last": 10000}, "keep": 2},
        {"seeds": {"first": 10001, "last": 10002}, "keep": 1},
    ],
}


def small_protocol(**changes: Any) -> BenchmarkProtocol:
    content = {**load_protocol().model_dump(), **CHANGES, **changes}
    content["comparison"] = {**content["comparison"], "repetitions": 200}
    return BenchmarkProtocol.model_validate(content)


def tiny_task(steps: int = 300) -> Task:
    stream = simulated_spec("uniform", steps=steps, clients=10, arms=5, dimension=4)
    return Task(name="tiny", version=1, title="Tiny", stream=stream)


def store_in(folder: Path) -> Store:
    if not (folder / "mlflow.db").exists():
        (folder / "mlflow.db").write_bytes(empty_database().read_bytes())
    return Store(f"sqlite:///{folder / 'mlflow.db'}")


def play(
    folder: Path | None,
    executor: Executor,
    *methods: str,
    task: Task | None = None,
    observer: Observer = silent,
    **options: Any,
) -> BoardResult:
    """Play a board, with at most four configurations per method, and record it in a folder, or nowhere: in a third of
    the time."""
    filters = [parse_filter(text) for text in methods]
    options = {"max_configurations": 4, **options}
    protocol = options.pop("protocol", None) or small_protocol()
    board = plan_board(task or tiny_task(), filters, protocol, **options)
    store = store_in(folder) if folder is not None else None
    return playing.play(board, store, executor, observer, with_facts=store is not None)
