"""Plan and play a small board, to recommend a method and its setting for given data within a budget."""

import math
from collections.abc import Sequence
from typing import Any

from algorithms.registry import built_in_methods
from benchmark.board.board import Board, plan_board
from benchmark.board.entries import variants_of, with_usual
from benchmark.board.play import play
from benchmark.board.task import Task, load_task, playable_names, task_of
from benchmark.observer import Observer, silent
from benchmark.plan.method_names import MethodFilter, parse_filter
from benchmark.protocol import BenchmarkProtocol, load_protocol
from benchmark.recommend.compare import as_store, without_the_script
from benchmark.recommend.data import DataProfile, data_from, import_notes, is_file_name, leak_notices, profile_stream
from benchmark.recommend.recommendation import Recommendation, plan_text
from benchmark.results.budget import Budget, as_budget
from data_pipelines.data_set import data_set_names
from data_pipelines.event_stream import EventStream
from data_pipelines.own_data.options import ImportOptions
from data_pipelines.prepare.prepared import prepared_names, read_manifest
from data_pipelines.stream_spec import DatasetSpec, SimulatedSpec
from data_pipelines.support.messages import unknown_name

OVER_BUDGETS = (0.0, 2.0, 10.0, 100.0, math.inf)
"""Budgets of the table, in messages per client, if the user gives none."""

SMALLER_AND_LARGER = (0.1, 1.0, 10.0)
"""Multiples of the user's budget that are compared."""

PASSES = ((1, 3), (2, 1))
"""The number of seeds of each pass, and how many configurations continue."""

REPORT_SEEDS = 10
MANY_STEPS = 50_000
CONFIGURATIONS, CONFIGURATIONS_OF_MANY_STEPS = 48, 16
MAX_DECISIONS = 2_000_000
"""On more decisions, the plan takes hours, and each stream several GB of disk."""

DEFAULT_BUDGET = 10.0
"""Messages per client at which the table names its winner, if the user gives no budget."""


def recommend(
    data: Any,
    budget: Any = None,
    jobs: int | None = None,
    store: Any = None,
    *,
    observer: Observer = silent,
    configurations: int | None = None,
    options: ImportOptions | None = None,
    methods: Sequence[str] = (),
) -> Recommendation:
    """Recommend a method and its setting for data within a communication budget.

    Args:
        data: a prepared data set, a task, a CSV or Parquet file, or a `StreamSpec`.
        budget: `"10/client"`, 5000 (transfers in total) or `"1MB"` (bytes in total); None: a table over budgets.
        jobs: the number of processes; all cores by default.
        store: an MLflow store (`Store` or its address) to resume from and to record in; in memory without one.
        observer: receives the progress.
        configurations: settings per method; by default 48, or 16 for more than 50,000 decisions.
        options: how to read a file.
        methods: further methods, as the option `--method` takes them; the usual ones always take part.
    """
    from benchmark.execution.local import LocalExecutor

    limit = None if budget is None else as_budget(budget)
    named = [parse_filter(method) for method in methods]
    task = task_from(data, options)
    _check_size(task)
    example = task.stream.bound().build(load_protocol().seeds.choosing.first)
    profile = profile_stream(example, import_notes(task.stream))
    board, per_decision = plan_recommendation(task, limit, profile, configurations, example, named)
    observer.note(plan_text(board))
    with without_the_script(), LocalExecutor(jobs) as executor:
        result = play(board, as_store(store), executor, observer)
    if result.is_interrupted:
        raise KeyboardInterrupt
    label = task.stream.bound().data_label()
    return Recommendation(str(data), limit, per_decision, profile, result, label, leak_notices(task.stream))


def task_from(data: Any, options: ImportOptions | None = None) -> Task:
    """Return the task of data as a user names them.

    A data set becomes a task as in the benchmark protocol: the other items of a pool are drawn by popularity, so that
    popularity alone earns little; data with ratings have pools of rated items.
    """
    if isinstance(data, Task):
        return data
    if isinstance(data, SimulatedSpec | DatasetSpec):
        return task_of(data)
    if not isinstance(data, str):
        data = str(data)
    if data in playable_names() and not (options and options.given()):
        return load_task(data)
    known = {*playable_names(), *data_set_names(), *prepared_names()}
    if not is_file_name(data) and data not in known:
        raise unknown_name("data set or task", data, known)
    spec = data_from(data, options, max_interactions=MAX_DECISIONS).bound()
    has_ratings = read_manifest(spec.data.folder / spec.dataset).get("positive_rating") is not None
    pools = {"pools": "rated"} if has_ratings else {"negatives": "popularity"}
    changed = {**spec.model_dump(exclude_defaults=True), **pools, "dataset": spec.dataset}
    return task_of(DatasetSpec.model_validate(changed))


def _check_size(task: Task) -> None:
    """Refuse a data set with more decisions than a small plan can handle."""
    stream = task.stream.bound()
    if not isinstance(stream, DatasetSpec):
        return
    count = read_manifest(stream.data.folder / stream.dataset)["counts"]["observed"]["interactions"]
    decisions = count // stream.arms if stream.pools == "rated" else count
    if decisions > MAX_DECISIONS:
        raise ValueError(
            f"{stream.name} must have at most {MAX_DECISIONS:,} decisions for a recommendation, got {decisions:,}; "
            "import the interactions of some users only, or use `fedbandit compare`"
        )


def plan_recommendation(
    task: Task,
    budget: Budget | None,
    profile: DataProfile,
    configurations: int | None = None,
    example: EventStream | None = None,
    named: Sequence[MethodFilter] = (),
) -> tuple[Board, float]:
    """Return the board to play, and the budget in full messages per decision; `named` are further methods."""
    limit = (budget or Budget(DEFAULT_BUDGET)).per_decision(profile.clients, profile.steps, profile.dimension)
    protocol = small_protocol(limit, is_table=budget is None)
    if configurations is None:
        configurations = CONFIGURATIONS_OF_MANY_STEPS if profile.steps > MANY_STEPS else CONFIGURATIONS
    methods = contenders(protocol.comparison.reference, named)
    seeds = protocol.seeds.trying.seeds[:REPORT_SEEDS]
    board = plan_board(task, methods, protocol, seeds=seeds, max_configurations=configurations, example=example)
    return board, limit


def small_protocol(limit: float, *, is_table: bool = False) -> BenchmarkProtocol:
    """Return the protocol of a recommendation: fewer budgets, seeds and passes than the shipped one.

    `limit` is the budget in full messages per decision.
    """
    factors = [budget / DEFAULT_BUDGET for budget in OVER_BUDGETS] if is_table else [0.0, *SMALLER_AND_LARGER, math.inf]
    budgets = {"all": sorted({limit * factor for factor in factors}), "primary": [limit], "slack": 1.0}
    return load_protocol().smaller(PASSES, budgets=budgets)


def contenders(reference: str, named: Sequence[MethodFilter] = ()) -> list[MethodFilter]:
    """Return the usual contenders, the reference method with the threshold of most communication, and named methods.

    The reference method's variants take part, and those of the rules.
    """
    methods = built_in_methods()
    front = methods[reference].front
    always = [MethodFilter(reference, {front.parameter: (front.grid[-1],)})] if front else []
    rules = [name for name, info in methods.items() if info.role == "reference" and info.front is None]
    variants = [variant for name in (reference, *rules) for variant in variants_of(name).values()]
    return with_usual([*always, *variants, *named])
