"""Play a board: tuning by successive halving, then the chosen configurations on the report seeds; estimate the rest.

    result = play(plan_board(load_task("lastfm-matched"), [], load_protocol()), Store(), executor)

Every run is recorded in MLflow; finished runs are not repeated, so an interrupted board continues where it stopped.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean

from benchmark import session
from benchmark.board.board import Board, Outcome, RunName, wanted
from benchmark.board.document import save_board
from benchmark.board.entries import MethodRow
from benchmark.board.result import BoardResult, evaluate
from benchmark.board.task import experiment_name
from benchmark.execution.executors import Executor
from benchmark.metrics import objective
from benchmark.observer import Observer, silent
from benchmark.plan.experiment import ExperimentInfo
from benchmark.plan.method_names import method_info
from benchmark.plan.plan import Plan
from benchmark.plan.runs import OVERHEAD, Run, make_run, make_setting
from benchmark.records.data_identity import earlier_code_sentences
from benchmark.records.record import RunRecord
from benchmark.records.store import Store
from benchmark.records.tags import PROTOCOL, TASK

PROFILE = "board"
UNKNOWN_ERROR = "the run failed"


def play(board: Board, store: Store, executor: Executor, observer: Observer = silent) -> BoardResult:
    """Execute and record the missing runs of a planned board, and compare its methods. It prints nothing.

    The observer receives the progress, one sweep per pass.
    """
    experiment, outcomes = board_experiment(board), dict[RunName, Outcome]()
    identities: dict[str, str] = {}
    left_out: list[str] = []
    while names := wanted(board, outcomes):
        observer.note(stage_text(board, names))
        runs = board_runs(board, names, identities)
        plan = Plan((experiment,), PROFILE, tuple({run.key: run for run in runs.values()}.values()))
        sweep = session.run(plan, store, executor, observer)
        if sweep.interrupted:
            return BoardResult(board, outcomes, is_interrupted=True)
        records = {record.key: record for record in (*sweep.skipped, *sweep.finished)}
        errors = {failure.key: failure.error for failure in sweep.failed}
        for name, run in runs.items():
            record, error = records.get(run.key), errors.get(run.key, UNKNOWN_ERROR)
            done = Outcome(run.key, record.metrics, run_id=record.run_id) if record else Outcome(run.key, error=error)
            outcomes[name] = done
        left_out = earlier_code_sentences(sweep.earlier_code)
    for sentence in left_out:
        observer.note(sentence)
    save_board(store, experiment, board, outcomes)
    return evaluate(board, outcomes)


def board_experiment(board: Board) -> ExperimentInfo:
    """Return the MLflow experiment of a board; its runs have the fingerprints of task and protocol."""
    task, protocol = board.task, board.protocol
    return ExperimentInfo(
        experiment_name(task, protocol),
        f"Board: {task.title}",
        f"{task.description} Protocol version {protocol.version}.".strip(),
        {PROTOCOL: protocol.fingerprint, TASK: f"{task.name} version {task.version} {task.fingerprint}"},
    )


def board_runs(board: Board, names: Sequence[RunName], identities: dict[str, str]) -> dict[RunName, Run]:
    """Return runs of a board with their keys; `identities` caches the identity of each method."""
    experiment, stream = experiment_name(board.task, board.protocol), board.task.stream.bound()
    runs = {}
    for configuration, seed in names:
        method, values = board.parameters[configuration]
        setting = make_setting(method, dict(values), stream, identities)
        runs[configuration, seed] = make_run(experiment, stream, seed, setting)
    return runs


def stage_text(board: Board, names: Sequence[RunName]) -> str:
    """Return a line about the runs that come next."""
    passes = board.protocol.halving()
    seeds = {seed for _, seed in names}
    numbers = [number for number, each in enumerate(passes, start=1) if seeds & {*each.seeds}]
    part = f"choosing, pass {numbers[0]} of {len(passes)}" if numbers else "reporting"
    return f"{board.task.name}: {part}, {len(names):,} runs"


@dataclass(frozen=True)
class Estimate:
    """The runs of a board that are done, the maximum number still to do, and their time in seconds on one core."""

    done: int
    to_do: int
    seconds: float


def max_runs(board: Board, entry: MethodRow) -> int:
    """Return the maximum number of runs of a row; usually, several budgets keep the same configurations."""
    if entry.role == "baseline" and objective([board.source]).better == "lower":
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
