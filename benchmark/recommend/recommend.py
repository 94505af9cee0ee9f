"""Plan and play small boards, to decide for given data and a budget: a rule, learning alone, or sharing."""

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from algorithms.registry import built_in_methods
from benchmark.board.board import Board, plan_board
from benchmark.board.entries import variants_of, with_usual
from benchmark.board.play import play
from benchmark.board.result import BoardResult, judged_by
from benchmark.board.task import Task
from benchmark.execution.sweep import Executor
from benchmark.metrics import GOALS, Goal, goal_metric
from benchmark.observer import Observer, silent
from benchmark.plan.method_names import MethodFilter, method_info, parse_filter
from benchmark.protocol import BenchmarkProtocol, load_protocol
from benchmark.recommend.clients import ClientFiles
from benchmark.recommend.compare import as_store, without_the_script
from benchmark.recommend.data import DataProfile, import_notes, leak_notices, profile_stream
from benchmark.recommend.decision import Dependence, Holdout, check, decide, differs, over_clients, shown_by, welcome
from benchmark.recommend.log import Case, Log, cases_from
from benchmark.recommend.recommendation import Recommendation, plan_text
from benchmark.records.store import Store
from benchmark.results.budget import Budget, as_budget
from data_pipelines.event_stream import EventStream
from data_pipelines.own_data.options import ImportOptions
from data_pipelines.streams.recorded import seconds_per_unit

OVER_BUDGETS = (0.0, 2.0, 10.0, 100.0, math.inf)
"""Budgets of the table, in messages per client, if the user gives none."""

SMALLER_AND_LARGER = (0.1, 1.0, 10.0)
"""Multiples of the user's budget that are compared."""

PASSES = ((1, 3), (2, 1))
"""The number of seeds of each pass, and how many configurations continue."""

PASSES_OTHERWISE = ((1, 1),)
CONFIGURATIONS_OTHERWISE = 8
"""Where a choice about the data is made otherwise, fewer settings are chosen from, on one seed."""

REPORT_SEEDS = 10
MANY_STEPS = 50_000
CONFIGURATIONS, CONFIGURATIONS_OF_MANY_STEPS = 48, 16
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
    by: Goal = "hits",
) -> Recommendation:
    """Decide for data and a communication budget: show what a rule says, let each client learn alone, or share.

    Args:
        data: a prepared data set, a task, a CSV or Parquet file, or a `StreamSpec`.
        budget: such as `"10/client"`, `"3/client/day"`, `"0.1/decision"`, `"5MB/client"`, or 5000 (transfers in total);
            None: a table over budgets.
        jobs: the number of processes; all cores by default.
        store: an MLflow store (`Store` or its address) to resume from and to record in; in memory without one.
        observer: receives the progress.
        configurations: settings per method; by default 48, or 16 for more than 50,000 decisions.
        options: how to read a file.
        methods: further methods, as the option `--method` takes them; the usual ones always take part.
        by: what decides: how many recommendations are taken, or what is taken is worth (`"value"`).
    """
    from benchmark.execution.local import LocalExecutor

    if by not in GOALS:
        raise ValueError(f"by must be one of {', '.join(GOALS)}, got {by!r}")
    limit = None if budget is None else as_budget(budget)
    named = [parse_filter(method) for method in methods]
    log, (case, *others) = cases_from(data, options)
    example = case.task.stream.bound().build(load_protocol().seeds.choosing.first)
    if by == "value" and example.values is None:
        raise ValueError(f"by = 'value' needs data with values (--value-column), got {data} without")
    profile = profile_stream(example, import_notes(case.task.stream))
    board, per_decision = plan_recommendation(case.task, limit, profile, configurations, example, named, log=log)
    board = replace(board, goal=goal_metric(by))
    files, kept = ClientFiles(observer), as_store(store)
    observer.note(plan_text(board))
    with without_the_script(), LocalExecutor(jobs) as executor:
        result = _played(board, kept, executor, files)
        holdout = _holdout(result, example, per_decision, kept, executor, files, by)
        depends = [_otherwise(other, result, per_decision, kept, executor, files, named) for other in others]
    decision = decide(result, per_decision)
    gains = []
    for gain in decision.gains:
        chosen = [each.configuration for each in (decision.option, gain.other) if each is not None]
        gains.append(over_clients(gain, *(files.totals(result, each, by, kept) for each in chosen)))
    decision = replace(decision, gains=tuple(gains))
    return Recommendation(
        str(data),
        limit,
        per_decision,
        profile,
        result,
        decision,
        case.task.stream.bound().data_label(),
        leak_notices(case.task.stream),
        by,
        log,
        case.pools,
        tuple(replace(each, changes=differs(decision, each.decision)) for each in depends),
        holdout,
        welcome(result, per_decision) if result.board.scale == "reward" else None,
    )


def _played(
    board: Board, store: Store | None, executor: Executor, observer: Observer, earlier: BoardResult | None = None
) -> BoardResult:
    """Play a board; an interruption ends everything."""
    known = earlier.outcomes if earlier else {}
    result = play(board, store, executor, observer, earlier=known, is_documented=earlier is None)
    if result.is_interrupted:
        raise KeyboardInterrupt
    return result


def _holdout(
    result: BoardResult,
    example: EventStream,
    limit: float,
    store: Store | None,
    executor: Executor,
    observer: Observer,
    by: Goal,
) -> Holdout | None:
    """Choose on the first part of the time and check on the last one, with the same runs; None without times."""
    if (first := example.first_later_step) is None or example.times is None:
        return None
    observer.note("Checking the choice: made on the first part of the time, tried on the last one.")
    earlier = _played(replace(result.board, goal=goal_metric(by, "earlier")), store, executor, observer, result)
    since = ""
    with suppress(ValueError):  # the times are numbers that are no dates
        seconds = int(example.times[first] * seconds_per_unit(example.times))
        since = str(np.datetime64(seconds, "s").astype("datetime64[D]"))
    return check(earlier, judged_by(earlier, goal_metric(by, "later")), limit, since)


def _otherwise(
    case: Case,
    result: BoardResult,
    limit: float,
    store: Store | None,
    executor: Executor,
    observer: Observer,
    named: Sequence[MethodFilter],
) -> Dependence:
    """Decide with a choice about the data made otherwise, from fewer settings and the same budget per client."""
    observer.note(f"Making a choice about the data otherwise: {case.other}.")
    example = case.task.stream.bound().build(load_protocol().seeds.choosing.first)
    own = result.board.per_client(limit) * len(example.client_ids) / example.steps
    protocol = load_protocol().smaller(
        PASSES_OTHERWISE, budgets={"all": sorted({0.0, own}), "primary": [own], "slack": 1.0}
    )
    board = plan_board(
        case.task,
        [row for row in contenders(protocol.comparison.reference, named) if not _is_always(row)],
        protocol,
        seeds=result.board.seeds,
        max_configurations=CONFIGURATIONS_OTHERWISE,
        example=example,
    )
    rows = [row for row in board.entries if row.role != "reference" or shown_by(row)]
    other = _played(replace(board, goal=result.board.goal, entries=tuple(rows)), store, executor, observer)
    return Dependence(case.choice, case.used, case.other, decide(other, own), changes=False)


def plan_recommendation(
    task: Task,
    budget: Budget | None,
    profile: DataProfile,
    configurations: int | None = None,
    example: EventStream | None = None,
    named: Sequence[MethodFilter] = (),
    log: Log | None = None,
) -> tuple[Board, float]:
    """Return the board to play, and the budget in full messages per decision; `named` are further methods.

    Without a log, the stream has all clients, and the time is not known.
    """
    clients, days = (log.clients, log.days) if log else (profile.clients, math.nan)
    steps = profile.steps / profile.clients * clients
    per_client = (budget or Budget(DEFAULT_BUDGET)).per_client(clients, profile.dimension, steps=steps, days=days)
    limit = per_client * profile.clients / profile.steps
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


def _is_always(row: MethodFilter) -> bool:
    """Whether a row is the method with the threshold of most communication."""
    front = method_info(row.name).front
    return front is not None and [*row.values] == [front.parameter]


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
