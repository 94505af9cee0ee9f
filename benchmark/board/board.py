"""The state of a board: its rows, and the runs that it still needs. It uses neither files nor processes."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from benchmark.board.entries import MethodRow, board_filters, make_entry, reference_filters
from benchmark.board.task import Task
from benchmark.metrics import goal_metric, objective
from benchmark.plan.method_names import MethodFilter
from benchmark.plan.runs import outline_of
from benchmark.protocol import BenchmarkProtocol, load_protocol
from benchmark.statistics.budgets import Scale, regret_score, require_reporting
from benchmark.statistics.selection import Selection, results_by_seed, select
from data_pipelines.event_stream import EventStream

if TYPE_CHECKING:
    from benchmark.board.task_facts import TaskFacts

COLUMNS = ["configuration", "seed", "score", "communication"]
COMMUNICATION = "needed_per_decision"
"""The metric by which the communication of a run is measured: full messages per decision."""

NORMALISED_REWARD = goal_metric("hits")
NOT_THE_PROTOCOL = "NOT THE PROTOCOL: fewer seeds and configurations, no verdicts"
UNLIMITED = {math.inf: math.inf}

RunName = tuple[str, int]
"""A run of a board: the name of its configuration, and its seed."""

SCALES: Mapping[str, Scale] = {"higher": "reward", "lower": "regret"}
"""The kind of score, by which values of the objective are better."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a run: its key and its metrics, or its error."""

    key: str
    metrics: Mapping[str, float] = field(default_factory=dict)
    error: str = ""
    run_id: str = ""
    artifact_uri: str = ""


Outcomes = Mapping[RunName, Outcome]


@dataclass(frozen=True)
class Board:
    """A task, a protocol and the rows.

    Args:
        task: the task.
        protocol: the protocol.
        entries: the rows: contenders, references and the baseline.
        seeds: the report seeds.
        squared_norm: the mean squared norm of the task's arms.
        source: the source of the data, such as `official` or `simulated`.
        steps: the number of steps of its stream.
        clients: the number of clients of its stream.
        facts: what the task can show; None before the board is complete.
        goal: the metric that is the score on recorded data.
    """

    task: Task
    protocol: BenchmarkProtocol
    entries: tuple[MethodRow, ...]
    seeds: tuple[int, ...]
    squared_norm: float
    source: str
    steps: int
    clients: int
    facts: "TaskFacts | None" = None
    goal: str = NORMALISED_REWARD

    @property
    def scale(self) -> Scale:
        """The kind of score: a normalised reward, or in simulations the share of regret that is avoided."""
        return SCALES[objective([self.source]).better]

    @property
    def playing(self) -> list[MethodRow]:
        """The rows that take part."""
        return [entry for entry in self.entries if not entry.problem]

    def tuning_note(self, entry: MethodRow) -> str:
        """Return the remark on a method that is tuned over fewer configurations than another; empty if it is not."""
        tuned = [len(each.configurations) for each in self.playing if each.is_ranked]
        count, most = len(entry.configurations), max(tuned, default=0)
        if not entry.is_ranked or entry.problem or count >= most:
            return ""
        return f"{count} configuration{'s' * (count > 1)} to choose from, other methods have {most}"

    @property
    def retired(self) -> str:
        """Why the task is no longer ranked; empty if it is."""
        return self.protocol.retired.get(self.task.name, "")

    @property
    def has_enough_seeds(self) -> bool:
        """Whether there are enough report seeds for verdicts."""
        return len(self.seeds) >= self.protocol.comparison.min_report_seeds

    def per_client(self, per_decision: float) -> float:
        """Convert an amount per decision into the mean amount per client."""
        return per_decision * self.steps / self.clients

    @cached_property
    def limits(self) -> dict[float, float]:
        """The mean communication up to which a configuration may be chosen for each budget."""
        return self.protocol.limits()

    @cached_property
    def parameters(self) -> dict[str, tuple[str, Mapping[str, object]]]:
        """The method and the parameters of each configuration."""
        return {name: (entry.method, values) for entry in self.playing for name, values in entry.configurations.items()}

    @property
    def baseline(self) -> str | None:
        """The configuration that results are divided by: a random choice."""
        return next((name for entry in self.playing if entry.role == "baseline" for name in entry.configurations), None)


def plan_board(
    task: Task,
    methods: Sequence[MethodFilter],
    protocol: BenchmarkProtocol,
    *,
    seeds: Sequence[int] | None = None,
    max_configurations: int | None = None,
    example: EventStream | None = None,
) -> Board:
    """Return the board of a task; raise NotPreparedError if its data are missing.

    Args:
        task: the task.
        methods: the contenders, by default all built-in ones; the reference method always takes part.
        protocol: the protocol.
        seeds: report seeds, by default those of the protocol for every try.
        max_configurations: fewer configurations per method than the protocol's.
        example: its stream of the first choosing seed, if it is already built.
    """
    report_seeds = tuple(protocol.seeds.trying.seeds if seeds is None else seeds)
    for each in (load_protocol(), protocol):  # records of any board are told apart by the shipped protocol
        require_reporting(report_seeds, each.seeds.choosing.seeds)
    stream = task.stream.bound()
    example = stream.build(protocol.seeds.choosing.first) if example is None else example
    norm = mean_squared_norm(example)
    outline, reference = outline_of(stream), protocol.comparison.reference
    entries = [
        make_entry(algorithm, protocol, norm, outline, max_configurations)
        for algorithm in board_filters(methods, reference)
    ]
    entries += [make_entry(algorithm, protocol, norm, outline) for algorithm in reference_filters(outline)]
    sizes = example.steps, len(example.client_ids)
    return Board(task, protocol, tuple(entries), report_seeds, norm, stream.source, *sizes)


def mean_squared_norm(stream: EventStream) -> float:
    """Return the mean of ‖x‖² over all entries of the pools, to three digits, so that it is the same everywhere."""
    offered = np.bincount(stream.pools.ravel(), minlength=len(stream.items))
    squares = np.einsum("ij,ij->i", stream.items, stream.items)
    return float(f"{squares @ offered / stream.pools.size:.3g}")


def run_table(board: Board, outcomes: Outcomes) -> pd.DataFrame:
    """Return one row per run: configuration, seed, score and communication; NaN for a failed run."""
    rows = [
        (name, seed, score(board, outcomes, (name, seed)), outcome.metrics.get(COMMUNICATION, math.nan))
        for (name, seed), outcome in outcomes.items()
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def score(board: Board, outcomes: Outcomes, run: RunName) -> float:
    """Return the score of a run; NaN if it failed."""
    metrics = outcomes[run].metrics
    if board.scale == "reward":
        return metrics.get(board.goal, math.nan)
    by_chance = outcomes.get((board.baseline or "", run[1]))
    regrets = metrics.get("regret", math.nan), by_chance.metrics.get("regret", math.nan) if by_chance else math.nan
    return regret_score(*regrets)


def selection_of(board: Board, entry: MethodRow, runs: pd.DataFrame) -> Selection:
    """Return the state of the selection among a row's configurations; a reference line has no budgets."""
    choosing, _ = board.protocol.seeds.split(runs)
    own = choosing[choosing["configuration"].isin(list(entry.configurations))]
    limits = board.limits if entry.is_contender else UNLIMITED
    return select(list(entry.configurations), results_by_seed(own), limits, board.protocol.halving())


def chosen_by(board: Board, entry: MethodRow, runs: pd.DataFrame) -> tuple[list[str], list[RunName]]:
    """Return the chosen configurations of a row, and the runs needed to choose them.

    A reference line with a single configuration needs none.
    """
    if not entry.is_contender and len(entry.configurations) == 1:
        return list(entry.configurations), []
    selection = selection_of(board, entry, runs)
    chosen = [name for name in selection.configurations.values() if name is not None]
    return list(dict.fromkeys(chosen)), list(selection.pending)


def wanted(board: Board, outcomes: Outcomes) -> list[RunName]:
    """Return the runs to execute next; none if the board is complete.

    Nothing is reported before everything is chosen, so that the stream of each report seed is built only once.
    """
    runs = run_table(board, outcomes)
    chosen: dict[str, None] = {}
    choosing: dict[RunName, None] = {}
    for entry in board.playing:
        configurations, pending = chosen_by(board, entry, runs)
        chosen.update(dict.fromkeys(configurations))
        choosing.update(dict.fromkeys(pending))
    names = choosing or dict.fromkeys((name, seed) for seed in board.seeds for name in chosen)
    return [name for name in dict.fromkeys((*_by_chance(board, names), *names)) if name not in outcomes]


def _by_chance(board: Board, names: Iterable[RunName]) -> list[RunName]:
    """Return the runs of the baseline on the same seeds, which scores in simulations are divided by."""
    if board.scale == "reward" or board.baseline is None:
        return []
    return [(board.baseline, seed) for seed in dict.fromkeys(seed for _, seed in names)]
