"""Play a board: tuning by successive halving, then the chosen configurations on the report seeds.

    result = play_board(load_task("lastfm-matched"), [], load_protocol(), Store(), executor)

Every run is recorded in MLflow; finished runs are not repeated, so an interrupted board continues where it stopped.
"""

from collections.abc import Sequence

from benchmark import session
from benchmark.board.board import Board, Outcome, RunName, plan_board, wanted
from benchmark.board.document import save_board
from benchmark.board.result import BoardResult, evaluate
from benchmark.board.task import Task, experiment_name, task_of
from benchmark.execution.executors import Executor
from benchmark.observer import Observer, silent
from benchmark.plan.experiment import ExperimentInfo
from benchmark.plan.method_names import MethodFilter
from benchmark.plan.plan import Plan, Run, make_run
from benchmark.protocol import BenchmarkProtocol
from benchmark.records.data_identity import earlier_code_sentences
from benchmark.records.store import Store
from benchmark.records.tags import PROTOCOL, TASK
from data_pipelines.stream_spec import StreamSpec

PROFILE = "board"
UNKNOWN_ERROR = "the run failed"


def play_board(
    task: Task | StreamSpec,
    methods: Sequence[MethodFilter],
    protocol: BenchmarkProtocol,
    store: Store,
    executor: Executor,
    observer: Observer = silent,
    *,
    seeds: Sequence[int] | None = None,
    max_configurations: int | None = None,
) -> BoardResult:
    """Play and record what is missing of a board, and compare its methods. It prints nothing.

    Args:
        task: a task, or any stream.
        methods: the contenders, by default all built-in ones; own classes are added to them.
        protocol: the protocol, or a smaller one; a board with another protocol has its own MLflow experiment.
        store: where runs are recorded.
        executor: local processes, or a Dask cluster.
        observer: receives the progress, one sweep per pass.
        seeds: report seeds, by default the protocol's.
        max_configurations: fewer configurations per method; each row then says so.

    Raises `NotPreparedError` if the data of the task are missing.
    """
    task = task if isinstance(task, Task) else task_of(task)
    board = plan_board(task, methods, protocol, seeds=seeds, max_configurations=max_configurations)
    return play(board, store, executor, observer)


def play(board: Board, store: Store, executor: Executor, observer: Observer = silent) -> BoardResult:
    """Execute and record the missing runs of a planned board, and compare its methods."""
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
        runs[configuration, seed] = make_run(experiment, stream, seed, method, dict(values), identities)
    return runs


def stage_text(board: Board, names: Sequence[RunName]) -> str:
    """Return a line about the runs that come next."""
    passes = board.protocol.halving()
    seeds = {seed for _, seed in names}
    numbers = [number for number, each in enumerate(passes, start=1) if seeds & {*each.seeds}]
    part = f"choosing, pass {numbers[0]} of {len(passes)}" if numbers else "reporting"
    return f"{board.task.name}: {part}, {len(names):,} runs"
