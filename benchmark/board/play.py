"""Play a board: tuning by successive halving, then the chosen configurations on the report seeds; estimate the rest.

    result = play(plan_board(load_task("lastfm-once"), [], load_protocol()), Store(), executor)

With a store, every run is recorded in MLflow; finished runs are not repeated, so an interrupted board continues where
it stopped.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import mean
from types import MappingProxyType
from typing import Any

from numpy.typing import NDArray

from benchmark import session
from benchmark.board.board import COMMUNICATION, Board, Outcome, Outcomes, RunName, wanted
from benchmark.board.document import facts_in, load_board, save_board, to_json
from benchmark.board.entries import MethodRow
from benchmark.board.result import BoardResult, evaluate
from benchmark.board.task import experiment_name
from benchmark.board.task_facts import TaskFacts, task_facts
from benchmark.execution.own_metrics import PlannedMetric
from benchmark.execution.sweep import Executor
from benchmark.metrics import objective
from benchmark.observer import Observer, silent
from benchmark.plan.experiment import ExperimentInfo
from benchmark.plan.method_names import method_info
from benchmark.plan.own_modules import OwnSource
from benchmark.plan.plan import Plan
from benchmark.plan.runs import OVERHEAD, Run, make_run, make_setting, with_metrics
from benchmark.records.artifacts import read_choices
from benchmark.records.data_identity import earlier_code_sentences
from benchmark.records.record import RunRecord
from benchmark.records.store import Store
from benchmark.records.tags import PROTOCOL, TASK

PROFILE = "board"
UNKNOWN_ERROR = "the run failed"
METRICS = (COMMUNICATION, "communication")
"""What a run must have recorded: the needed and the sent communication."""


def play(
    board: Board,
    store: Store | None,
    executor: Executor,
    observer: Observer = silent,
    *,
    with_facts: bool = False,
    earlier: Outcomes = MappingProxyType({}),
    is_documented: bool = True,
    metrics: tuple[PlannedMetric, ...] = (),
) -> BoardResult:
    """Execute and record the missing runs of a planned board, and compare its methods. It prints nothing.

    Without a store, the runs are only kept in memory; `earlier` are outcomes that are already known. The document of
    the board is only written if it `is_documented`. The observer receives the progress, one sweep per pass. The facts
    about the task need the streams of all report seeds and of some others. `metrics` are further ones of the user.
    """
    experiment, outcomes = board_experiment(board), dict(earlier)
    sources: dict[str, OwnSource | None] = {}
    left_out: list[str] = []
    metric_errors: list[str] = []
    while names := wanted(board, outcomes):
        observer.note(stage_text(board, names))
        runs = board_runs(board, names, sources)
        distinct = tuple({run.key: run for run in runs.values()}.values())
        plan = Plan((experiment,), PROFILE, distinct, metrics=METRICS, own_metrics=metrics)
        sweep = session.run(plan, store, executor, observer)
        if sweep.interrupted:
            return BoardResult(board, outcomes, is_interrupted=True)
        records = {record.key: record for record in (*sweep.skipped, *sweep.finished)}
        errors = {failure.key: failure.error for failure in sweep.failed}
        for name, run in runs.items():
            record, error = records.get(run.key), errors.get(run.key, UNKNOWN_ERROR)
            outcomes[name] = (
                Outcome(run.key, record.metrics, "", record.run_id, record.artifact_uri)
                if record
                else Outcome(run.key, error=error)
            )
        left_out = earlier_code_sentences(sweep.earlier_code)
        metric_errors += sweep.metric_errors
    for sentence in (*left_out, *(f"FAILED {error}" for error in metric_errors)):
        observer.note(sentence)
    if with_facts:
        board = replace(board, facts=_facts(board, outcomes, store, experiment))
    if store is not None and is_documented:
        save_board(store, experiment, board, outcomes)
    return replace(evaluate(board, outcomes), metric_errors=tuple(metric_errors))


def _facts(board: Board, outcomes: Outcomes, store: Store | None, experiment: ExperimentInfo) -> TaskFacts:
    """Return what the task can show: from the latest document, if nothing has changed since."""
    document = load_board(store, experiment.name) if store is not None else None
    facts = facts_in(json.loads(document)) if document is not None else None
    if facts is not None and to_json(replace(board, facts=facts), outcomes) == document:
        return facts

    def choices(configuration: str, seed: int) -> NDArray[Any] | None:
        outcome = outcomes.get((configuration, seed), Outcome(""))
        if store is None or not outcome.run_id:
            return None
        return read_choices(store, experiment.name, outcome.run_id, outcome.artifact_uri)

    result = evaluate(board, outcomes)
    rules = [name for entry in result.references if len(entry.configurations) == 1 for name in entry.configurations]
    return task_facts(board, outcomes, [*result.chosen, *rules], choices)


def board_experiment(board: Board) -> ExperimentInfo:
    """Return the MLflow experiment of a board; its runs have the fingerprints of task and protocol."""
    task, protocol = board.task, board.protocol
    return ExperimentInfo(
        experiment_name(task, protocol),
        f"Board: {task.title}",
        f"{task.description} Protocol version {protocol.version}.".strip(),
        {PROTOCOL: protocol.fingerprint, TASK: f"{task.name} version {task.version} {task.fingerprint}"},
    )


def board_runs(board: Board, names: Sequence[RunName], sources: dict[str, OwnSource | None]) -> dict[RunName, Run]:
    """Return runs of a board with their keys; `sources` keeps the source of each method."""
    experiment, stream = experiment_name(board.task, board.protocol), board.task.stream.bound()
    runs = {}
    for configuration, seed in names:
        method, values = board.parameters[configuration]
        setting = make_setting(method, dict(values), stream, sources)
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
    records = {record.key: record for record in with_metrics(finished, METRICS)}
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
    sources: dict[str, OwnSource | None] = {}
    while names := wanted(board, outcomes):
        runs = board_runs(board, names, sources)
        found = {name: records[run.key] for name, run in runs.items() if run.key in records}
        outcomes |= {name: Outcome(record.key, record.metrics) for name, record in found.items()}
        if len(found) < len(names):
            return outcomes, [name for name in names if name not in found]
    return outcomes, []
