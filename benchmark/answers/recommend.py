"""Which method and setting to use on given data within a budget: a small board, and its answer in plain words."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from algorithms.registry import built_in_methods
from benchmark.answers.budget import Budget, as_budget
from benchmark.answers.compare import play, without_the_script
from benchmark.answers.data import data_from, is_file_name, leak_notices
from benchmark.answers.data_profile import DataProfile, profile_stream
from benchmark.board.board import Board, Outcome, RunName, plan_board, wanted
from benchmark.board.play import board_runs, stage_text
from benchmark.board.play import play as play_recorded
from benchmark.board.result import BoardResult, evaluate
from benchmark.board.task import Task, load_task, task_names, task_of
from benchmark.execution.executors import Executor
from benchmark.observer import Observer, silent
from benchmark.plan.algorithm_names import AlgorithmFilter
from benchmark.plan.unknown_name import unknown_name
from benchmark.protocol import BenchmarkProtocol, load_protocol
from benchmark.statistics.budgets import full_transfers
from benchmark.statistics.comparison import NO_COMMUNICATION
from benchmark.statistics.verdicts import Verdict
from data_pipelines.catalogue import data_set_names
from data_pipelines.event_stream import EventStream
from data_pipelines.own_data.options import ImportOptions
from data_pipelines.prepare.prepared import prepared_names, read_manifest
from data_pipelines.stream_spec import DatasetSpec, SimulatedSpec
from data_pipelines.support.messages import one_line

OVER_BUDGETS = (0.0, 2.0, 10.0, 100.0, math.inf)
"""Budgets of the table, in transfers per client, if the user gives none."""

SMALLER_AND_LARGER = (0.1, 1.0, 10.0)
"""Multiples of the user's budget that are compared."""

FIRST_CHOOSING_SEED = 10_000
PASSES = [
    {"seeds": {"first": FIRST_CHOOSING_SEED, "last": FIRST_CHOOSING_SEED}, "keep": 3},
    {"seeds": {"first": 10_001, "last": 10_002}, "keep": 1},
]
REPORT_SEEDS = 10
MANY_STEPS = 50_000
CONFIGURATIONS, CONFIGURATIONS_OF_MANY_STEPS = 48, 16
MAX_DECISIONS = 2_000_000
"""On more decisions, the plan takes hours, and each stream several GB of disk."""

DEFAULT_BUDGET = 10.0
"""Transfers per client at which the table names its winner, if the user gives no budget."""


@dataclass(frozen=True)
class Line:
    """A row of the answer: its name and setting, its mean score with interval, and its transfers per client."""

    name: str
    setting: str
    mean: float
    low: float
    high: float
    transfers: float = math.nan
    verdict: str = ""


@dataclass(frozen=True)
class Recommendation:
    """The answer for one data set and budget, and the runs behind it.

    Attributes:
        data: as the user named it.
        budget: as the user gave it; None without one.
        limit: the budget in full transfers per client.
        profile: what the data are like.
        result: the board that was played.
        label: the notice on generated or reconstructed data; empty if there is none.
        notices: the remarks on leaks in the data.
    """

    data: str
    budget: Budget | None
    limit: float
    profile: DataProfile
    result: BoardResult
    label: str = ""
    notices: tuple[str, ...] = ()

    @property
    def best(self) -> str:
        """The recommended row: the best mean over the choosing seeds among settings within the budget."""
        return self.best_at(self.limit)

    def best_at(self, limit: float) -> str:
        """Return the best row at a budget, by its mean over the choosing seeds."""
        scores = {
            entry.name: choice.score
            for entry in self.result.contenders
            if entry.is_ranked and (choice := self.result.choice(entry.name, limit)) is not None
        }
        if not scores:
            raise ValueError(one_line(f"no method could be run on {self.data}: {self._problems()}"))
        return max(scores, key=lambda name: scores[name])

    def line(self, row: str, limit: float, name: str = "", verdict: str = "") -> Line:
        """Return a row of the answer at a budget."""
        choice = self.result.choice(row, limit)
        label = name or self._label(row)
        if choice is None:
            return Line(label, "none within it", math.nan, math.nan, math.nan)
        transfers = full_transfers(self._numbers(choice.configuration), self.result.board.dimension)
        return Line(label, setting_of(choice.configuration), *self.result.mean(row, limit), transfers, verdict)

    def lines(self) -> list[Line]:
        """Return the table: the recommendation, the other methods, both extremes, and reference lines.

        Verdicts compare a row with the recommendation.
        """
        ranked = [entry.name for entry in self.result.contenders if entry.is_ranked]
        rows = [self.line(self.best, self.limit)]
        rows += [self.line(name, self.limit, "", self._verdict(name)) for name in ranked if name != self.best]
        reference = self.result.board.protocol.comparison.reference
        rows.append(self.line(reference, 0.0, "never communicating", self._verdict(NO_COMMUNICATION)))
        always = next((entry.name for entry in self.result.contenders if entry.fixed), None)
        if always is not None:
            rows.append(self.line(always, math.inf, "always communicating"))
        rows += [Line(entry.label, "", *self.result.line(entry.name)) for entry in self.result.references]
        if math.isfinite(self.profile.popularity):
            rows.append(Line("popularity in hindsight", "", self.profile.popularity, math.nan, math.nan))
        return rows

    def _verdict(self, other: str) -> str:
        own, others = (self.result.values(name, self.limit) for name in (self.best, other))
        if np.array_equal(own, others):  # such as different methods that do not communicate
            return str(Verdict.IDENTICAL)
        verdict = self.result.verdict(self.best, self.limit, other).reversed
        return "" if verdict is Verdict.NONE else str(verdict)

    def over_budgets(self) -> list[tuple[float, Line]]:
        """Return the best row at each budget."""
        return [(limit, self.line(self.best_at(limit), limit)) for limit in self.result.budgets]

    @property
    def table(self) -> pd.DataFrame:
        """The best row at each budget, as a table."""
        rows = [{"budget": limit, **vars(line)} for limit, line in self.over_budgets()]
        return pd.DataFrame(rows).drop(columns="verdict")

    def certainty(self) -> str:
        """Return how sure the recommendation is, compared with never communicating."""
        seeds = f"On {len(self.result.board.seeds)} seeds that were not used for choosing"
        row = self.result.difference(self.best, NO_COMMUNICATION, self.limit)
        choice = self.result.choice(self.best, self.limit)
        if choice is not None and choice.numbers == 0:
            return (
                "It does not communicate: on the seeds for choosing, no setting that communicates within the budget "
                "earned more."
            )
        if row is None or math.isnan(row["difference"]):
            return f"{seeds}: runs are missing, so the difference to never communicating is not known."
        band = f"{row['difference']:+.3g} [{row['low']:+.3g}; {row['high']:+.3g}]"
        words = {
            "better": "it earns more than never communicating",
            "worse": "it earns less than never communicating; the choice did not hold on new seeds",
            "equivalent": "it earns the same as never communicating, within 5 %",
            "identical": "it is the same as never communicating",
        }.get(str(row["verdict"]), "it is not decided whether it earns more or less than never communicating")
        return f"{seeds}, {words}: difference {band}."

    def warnings(self) -> list[str]:
        """Return a warning if references earn more than the recommended method on the report seeds."""
        above, undecided = [], []
        own = self.result.mean(self.best, self.limit)[0]
        for entry in self.result.references:
            _, low, _ = self.result.above(entry.name, self.best)
            line = Line(entry.label, "", *self.result.line(entry.name))
            if low > 0:
                above.append(f"{line.name} ({score_text(line)})")
            elif line.mean > own:
                undecided.append(f"{line.name} ({score_text(line)})")
        sentences = []
        if above:
            sentences.append(
                f"WARNING: references earn more than the recommended method on these data: {'; '.join(above)}. "
                "The recommendation is the best of the federated methods, and not the best rule for these data. "
                "If a rule without a model, which only counts or remembers items, is acceptable to you, test it with "
                "real users first: it learns nothing about what a single user likes."
            )
        if undecided:
            sentences.append(f"It is not decided whether these references earn more: {'; '.join(undecided)}.")
        if sentences and self.has_sampled_pools:
            sentences.append(
                "A rule that remembers items can use how the pools are drawn: an item that is offered to a client for "
                "the second time is rarely the rewarded one. With real users, this part of its reward may be missing."
            )
        return sentences

    @property
    def has_sampled_pools(self) -> bool:
        """Whether the other items of each pool were drawn at random from the data."""
        stream = self.result.board.task.stream
        return isinstance(stream, DatasetSpec) and stream.pools == "sampled"

    def other_budgets(self) -> list[str]:
        """Return what a smaller and a larger budget would change."""
        index = self.result.budgets.index(self.limit)
        own = self.line(self.best, self.limit)
        sentences = []
        for word, other in (("smaller", index - 1), ("larger", index + 1)):
            if not 0 <= other < len(self.result.budgets):
                continue
            limit = self.result.budgets[other]
            line = self.line(self.best_at(limit), limit)
            same = (line.name, line.setting) == (own.name, own.setting)
            change = "the same setting" if same else f"{line.name} {line.setting}, {score_text(line)}"
            sentences.append(f"A {word} budget ({limit_text(limit)}): {change}.")
        return sentences

    def plan_text(self) -> str:
        """Return the plan that was played."""
        return f"{plan_text(self.result.board)} {len(self.result.outcomes):,} runs."

    def answer(self) -> str:
        """Return the recommendation in one or two sentences."""
        line = self.line(self.best, self.limit)
        limit = (
            "unlimited communication" if math.isinf(self.limit) else f"at most {self.budget or as_limit(self.limit)}"
        )
        start = "" if line.transfers else "Do not communicate: let each client learn alone. "
        return (
            f"{start}For {self.profile.name} with {limit}, use {line.name} with {line.setting or 'its defaults'}. It "
            f"earns {score_text(line)}{self.unit}, with {transfers_text(line.transfers)} transfers per client."
        )

    @property
    def unit(self) -> str:
        """What scores are multiples of."""
        return (
            " times random choice" if self.result.board.scale == "reward" else " of the regret of random choice avoided"
        )

    def __str__(self) -> str:
        """Return the answer, how sure it is, warnings, and what other budgets change."""
        return "\n".join([self.answer(), *self.notices, self.certainty(), *self.warnings(), *self.other_budgets()])

    def _repr_html_(self) -> str:
        import html

        texts = "".join(f"<p>{html.escape(text)}</p>" for text in str(self).splitlines())
        return f"{texts}{self.table.to_html(index=False, float_format='{:.4g}'.format, border=0)}"

    def _label(self, row: str) -> str:
        return next(entry.label for entry in self.result.contenders if entry.name == row)

    def _numbers(self, configuration: str) -> float:
        values = [
            outcome.metrics.get("numbers_per_client", math.nan)
            for (name, seed), outcome in self.result.outcomes.items()
            if name == configuration and seed in self.result.board.seeds
        ]
        return sum(values) / len(values) if values else math.nan

    def _problems(self) -> str:
        return "; ".join(self.result.problems.values()) or "no setting has a score"


def recommend(
    data: Any,
    budget: Any = None,
    jobs: int | None = None,
    store: Any = None,
    *,
    observer: Observer = silent,
    configurations: int | None = None,
    options: ImportOptions | None = None,
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
    """
    from benchmark.execution.local import LocalExecutor

    limit = None if budget is None else as_budget(budget)
    task = task_from(data, options)
    _check_size(task)
    example = task.stream.bound().build(FIRST_CHOOSING_SEED)
    profile = profile_stream(example)
    board, per_client = plan_recommendation(task, limit, profile, configurations, example)
    observer.note(plan_text(board))
    with without_the_script(), LocalExecutor(jobs) as executor:
        result = _played(board, store, executor, observer)
    if result.is_interrupted:
        raise KeyboardInterrupt
    label = task.stream.bound().data_label()
    return Recommendation(str(data), limit, per_client, profile, result, label, leak_notices(task.stream))


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
    if data in task_names() and not (options and options.given()):
        return load_task(data)
    known = {*task_names(), *data_set_names(), *prepared_names()}
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
) -> tuple[Board, float]:
    """Return the board to play, and the budget in full transfers per client."""
    limit = DEFAULT_BUDGET if budget is None else budget.per_client(profile.clients, profile.dimension)
    protocol = small_protocol(limit, is_table=budget is None)
    if configurations is None:
        configurations = CONFIGURATIONS_OF_MANY_STEPS if profile.steps > MANY_STEPS else CONFIGURATIONS
    methods = contenders(protocol.comparison.reference)
    board = plan_board(task, methods, protocol, max_configurations=configurations, example=example)
    return board, limit


def plan_text(board: Board) -> str:
    """Return the plan of a board in words."""
    methods = [entry for entry in board.playing if entry.is_ranked]
    settings = max((len(entry.configurations) for entry in methods), default=0)
    choosing = sum(len(each.seeds) for each in board.protocol.halving())
    return (
        f"Plan: {len(methods)} methods with up to {settings} settings each, chosen on {choosing} seeds; the chosen "
        f"settings on {len(board.seeds)} other seeds, which are reported. This is smaller than the benchmark protocol."
    )


def small_protocol(limit: float, *, is_table: bool = False) -> BenchmarkProtocol:
    """Return the protocol of a recommendation: fewer budgets, seeds and passes than the shipped one."""
    finite = {limit * factor for factor in SMALLER_AND_LARGER}
    budgets = sorted({0.0, *(OVER_BUDGETS if is_table else finite), math.inf})
    content = {
        **load_protocol().model_dump(),
        "budgets": {"all": budgets, "primary": [limit]},
        "seeds": {"choosing": {"first": 10_000, "last": 10_002}, "reporting": {"first": 0, "last": REPORT_SEEDS - 1}},
        "passes": PASSES,
    }
    return BenchmarkProtocol.model_validate(content)


def contenders(reference: str) -> list[AlgorithmFilter]:
    """Return all built-in contenders, and the reference method with the threshold of most communication."""
    declared = built_in_methods()
    names = [name for name, each in declared.items() if each.role == "contender"]
    front = declared[reference].front
    always = [AlgorithmFilter(reference, {front.parameter: (front.grid[-1],)})] if front else []
    return [*(AlgorithmFilter(name, {}) for name in names), *always]


def _played(board: Board, store: Any, executor: Executor, observer: Observer) -> BoardResult:
    if store is None:
        return play_in_memory(board, executor, observer)
    from benchmark.records.store import Store

    return play_recorded(board, store if isinstance(store, Store) else Store(str(store)), executor, observer)


def play_in_memory(board: Board, executor: Executor, observer: Observer = silent) -> BoardResult:
    """Play a board without a store."""
    outcomes: dict[RunName, Outcome] = {}
    identities: dict[str, str] = {}
    while names := wanted(board, outcomes):
        observer.note(stage_text(board, names))
        runs = board_runs(board, names, identities)
        records = {record.key: record for record in play(_distinct(runs), executor, observer)}
        outcomes |= {
            name: Outcome(run.key, records[run.key].metrics, error=records[run.key].error) for name, run in runs.items()
        }
    return evaluate(board, outcomes)


def _distinct(runs: Mapping[RunName, Any]) -> Sequence[Any]:
    return list({run.key: run for run in runs.values()}.values())


def setting_of(configuration: str) -> str:
    """Return the values of a configuration: `gamma=5, alpha=0.3` of `name[gamma=5,alpha=0.3]`."""
    return configuration.partition("[")[2].removesuffix("]").replace(",", ", ")


def score_text(line: Line) -> str:
    """Write a score with its interval."""
    interval = "" if math.isnan(line.low) else f" [{line.low:.3g}; {line.high:.3g}]"
    return f"{line.mean:.3g}{interval}"


def transfers_text(transfers: float) -> str:
    """Write a number of transfers."""
    return f"{transfers:,.0f}" if abs(transfers) >= 100 else f"{transfers:.3g}"


def as_limit(limit: float) -> Budget:
    """Return a number of transfers per client as a budget."""
    return Budget(limit)


def limit_text(limit: float) -> str:
    """Write a budget in transfers per client."""
    if not limit:
        return "no communication"
    return "unlimited" if math.isinf(limit) else f"{transfers_text(limit)} per client"
