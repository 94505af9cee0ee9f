"""Estimates for a board: its maximum number of runs, how many are done, and the time for the others."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import mean

from benchmark.board.board import Board, Outcome, RunName, wanted
from benchmark.board.entries import MethodRow
from benchmark.board.play import board_runs
from benchmark.plan.estimate import OVERHEAD
from benchmark.plan.method_names import method_info
from benchmark.records.record import RunRecord


@dataclass(frozen=True)
class Estimate:
    """The runs of a board that are done, the maximum number still to do, and their time in seconds on one core."""

    done: int
    to_do: int
    seconds: float


def max_runs(board: Board, entry: MethodRow) -> int:
    """Return the maximum number of runs of a row; usually, several budgets keep the same configurations."""
    if entry.role == "baseline" and board.is_relative:
        return len(board.protocol.seeds.choosing.seeds) + len(board.seeds)
    budgets = len(board.limits) if entry.is_contender else 1
    count, total = len(entry.configurations), 0
    if entry.is_contender or count > 1:
        for current in board.protocol.halving():
            total += count * len(current.seeds)
            count = min(count, current.keep * budgets)
    return total + count * len(board.seeds)


def estimate(board: Board, finished: Iterable[RunRecord]) -> Estimate:
    """Estimate a board; `finished` are the finished runs of its experiment."""
    records = {record.key: record for record in finished}
    done, pending = _state(board, records)
    if not pending:
        return Estimate(len(done), 0, 0.0)
    done_by = Counter(configuration for configuration, _ in done)
    to_do, seconds = 0, 0.0
    for entry in board.playing:
        left = max(0, max_runs(board, entry) - sum(done_by[name] for name in entry.configurations))
        to_do += left
        seconds += left * seconds_per_run(board, entry.method, records.values())
    return Estimate(len(done), to_do, seconds)


def seconds_per_run(board: Board, method: str, finished: Iterable[RunRecord]) -> float:
    """Return the seconds of one core that a run takes: as measured on this task, or by the usual time per step."""
    measured = [record.metrics.get("kernel_seconds", 0.0) for record in finished if record.method.name == method]
    usual = method_info(method).microseconds_per_step * board.steps / 1e6
    return OVERHEAD * (mean(measured) if measured else usual)


def _state(board: Board, records: Mapping[str, RunRecord]) -> tuple[dict[RunName, Outcome], list[RunName]]:
    """Return the outcomes of finished runs up to the first incomplete pass, and the remaining runs of that pass."""
    outcomes: dict[RunName, Outcome] = {}
    identities: dict[str, str] = {}
    while names := wanted(board, outcomes):
        runs = board_runs(board, names, identities)
        found = {name: records[run.key] for name, run in runs.items() if run.key in records}
        outcomes |= {name: Outcome(record.key, record.metrics) for name, record in found.items()}
        if len(found) < len(names):
            return outcomes, [name for name in names if name not in found]
    return outcomes, []
