"""What a task can show: what one ranking for all earns, whether exploration pays, how many decisions clients make.

    facts = task_facts(board, outcomes, chosen, choices)
    print("\\n".join(facts.lines({"alone": "async-linucb[gamma=inf,alpha=0,ridge=0.2]"})))

They are shown beside the task, so that a result is not read as more than the task can tell.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmark.board.board import Board, Outcomes, score
from benchmark.statistics.budgets import Scale, regret_score
from data_pipelines.event_stream import EventStream
from data_pipelines.support.text import WIDTH, cut

MAX_SHOWN = 2
"""Configurations whose scores by decision number fit into the lines of a task."""

DECIMALS = 4
"""Of stored scores: those of seeds differ by much more, and the document of a board stays small."""

Choices = Callable[[str, int], NDArray[Any] | None]
"""The recorded choices of a configuration on a seed, one per step; None if they are not known."""


@dataclass(frozen=True)
class TaskFacts:
    """The facts about a task.

    Args:
        decisions: the first quartile, the median and the third quartile of the decisions per client.
        exploration: the best score with α above 0 minus the best with α = 0, both without communication and on the
            first choosing seed; NaN if it is not known.
        one_ranking: the normalised reward of one ranking for all in hindsight, by report seed; empty in simulations.
        groups: the names of the groups of decision numbers.
        scores: for each configuration its scores with four decimals, report seeds × groups; NaN in an empty group and
            without a run.
    """

    decisions: tuple[int, int, int]
    exploration: float = math.nan
    one_ranking: Mapping[int, float] = field(default_factory=dict)
    groups: tuple[str, ...] = ()
    scores: Mapping[str, tuple[tuple[float, ...], ...]] = field(default_factory=dict)

    @property
    def ceiling(self) -> float:
        """The mean of what one ranking for all earns; NaN in simulations."""
        return float(np.mean(list(self.one_ranking.values()))) if self.one_ranking else math.nan

    def to_json(self) -> dict[str, Any]:
        """Return the facts as the content of a JSON file; a number that is not known is None."""
        content = asdict(self)
        content["exploration"] = _none_if_unknown(self.exploration)
        content["one_ranking"] = {str(seed): value for seed, value in self.one_ranking.items()}
        content["scores"] = {
            name: [[_none_if_unknown(value) for value in row] for row in rows] for name, rows in self.scores.items()
        }
        return content

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "TaskFacts":
        """Return the facts that `to_json` wrote."""
        first, median, third = content["decisions"]
        return cls(
            (first, median, third),
            _nan_if_none(content["exploration"]),
            {int(seed): float(value) for seed, value in content["one_ranking"].items()},
            tuple(content["groups"]),
            {
                name: tuple(tuple(map(_nan_if_none, row)) for row in rows)
                for name, rows in content.get("scores", {}).items()
            },
        )

    def lines(self, shown: Mapping[str, str]) -> list[str]:
        """Return at most four lines; `shown` has the label and the configuration of one or two rows to show."""
        first, median, third = self.decisions
        lines = [f"decisions per client: median {median:,}, half of the clients have {first:,} to {third:,}"]
        parts = [] if math.isnan(self.ceiling) else [f"one ranking for all in hindsight earns {self.ceiling:.3g}"]
        if not math.isnan(self.exploration):
            parts.append(f"without communication, exploration gains {self.exploration:+.2g}")
        lines += ["; ".join(parts)] if parts else []
        rows = [(label, _means(self.scores[name])) for label, name in shown.items() if name in self.scores]
        texts = [
            f"{label}: {' '.join('-' if math.isnan(value) else f'{value:.3g}' for value in scores)}"
            for label, scores in rows[:MAX_SHOWN]
        ]
        if not texts:
            return [cut(line, WIDTH) for line in lines]
        lines += [f"scores at decisions {', '.join(self.groups)} of a client:", "; ".join(texts)]
        return [cut(line, WIDTH) for line in lines]


def task_facts(
    board: Board,
    outcomes: Outcomes,
    chosen: Iterable[str],
    choices: Choices,
    build: Callable[[int], EventStream] | None = None,
) -> TaskFacts:
    """Return the facts about the task of a board.

    Args:
        board: the board.
        outcomes: the outcomes of its runs.
        chosen: the configurations whose scores by decision number are wanted: those that are chosen.
        choices: finds the recorded choices of a run.
        build: builds the stream of a seed, by default that of the task.
    """
    build = board.task.stream.bound().build if build is None else build
    rules, configurations = board.protocol.facts, list(dict.fromkeys(chosen))
    ranking = None
    if board.scale == "reward":
        ranking = item_ranking((build(seed) for seed in rules.ranking_seeds.seeds), rules.ranking_prior)
    decisions, one_ranking = None, {}
    scores: dict[str, list[tuple[float, ...]]] = {name: [] for name in configurations}
    unknown = (math.nan,) * len(rules.groups)
    for seed in board.seeds:
        stream = build(seed)
        decisions = decisions or decisions_per_client(stream)
        if ranking is not None and stream.random_reward > 0:
            one_ranking[seed] = reward_of_ranking(ranking, stream)
        for name in configurations:
            arms = choices(name, seed)
            by_group = unknown if arms is None else score_by_decision(stream, arms, board.scale, rules.last_decisions)
            scores[name].append(tuple(round(value, DECIMALS) for value in by_group))
    assert decisions is not None, "a board has at least one seed"
    known = {name: tuple(rows) for name, rows in scores.items() if not np.isnan(rows).all()}
    return TaskFacts(decisions, _exploration(board, outcomes), one_ranking, rules.groups, known)


def decisions_per_client(stream: EventStream) -> tuple[int, int, int]:
    """Return the first quartile, the median and the third quartile of the decisions per client."""
    quartiles = np.quantile(np.bincount(stream.client_numbers), [0.25, 0.5, 0.75], method="nearest")
    first, median, third = (int(value) for value in quartiles)
    return first, median, third


def item_ranking(streams: Iterable[EventStream], prior: float) -> NDArray[np.float64]:
    """Return (Σ reward + prior·mean) / (n + prior) of each item over all its n offers in the pools of streams.

    The mean is that of all offers. The streams have the same items.
    """
    sums, counts = np.zeros(0), np.zeros(0)
    for stream in streams:
        items = stream.offered_items.ravel()
        size = max(len(sums), _item_numbers(stream))
        sums = _longer(sums, size) + np.bincount(items, stream.rewards.ravel(), size)
        counts = _longer(counts, size) + np.bincount(items, minlength=size)
    mean = sums.sum() / counts.sum()
    return np.asarray((sums + prior * mean) / (counts + prior))


def reward_of_ranking(ranking: NDArray[np.float64], stream: EventStream) -> float:
    """Return the normalised reward of always taking the best item of a ranking; equal ones are taken at random."""
    scores = ranking[stream.offered_items]
    is_best = scores == scores.max(axis=1, keepdims=True)
    rewards = (stream.rewards * is_best).sum(axis=1) / is_best.sum(axis=1)
    return float(rewards.sum()) / stream.random_reward


def exploration_gain(configurations: Mapping[str, Mapping[str, Any]], scores: Mapping[str, float]) -> float:
    """Return the best score with α above 0 minus the best with α = 0; NaN if either has no score.

    Args:
        configurations: the parameters of configurations without communication, by name.
        scores: their scores on one seed.
    """
    known = {name: value for name, value in scores.items() if name in configurations and not math.isnan(value)}
    explores = [value for name, value in known.items() if configurations[name]["alpha"] != 0]
    exploits = [value for name, value in known.items() if configurations[name]["alpha"] == 0]
    return max(explores) - max(exploits) if explores and exploits else math.nan


def score_by_decision(
    stream: EventStream, choices: NDArray[Any], scale: Scale, last_decisions: Sequence[int]
) -> tuple[float, ...]:
    """Return the score within each group of decision numbers of a client; NaN where there is no decision.

    `choices` has the position of the chosen arm of each step, `last_decisions` the last number of each group but one.
    """
    clients = pd.Series(stream.client_numbers)
    numbers = clients.groupby(clients).cumcount().to_numpy() + 1
    groups, size = np.digitize(numbers, last_decisions, right=True), len(last_decisions) + 1
    chosen = stream.rewards[np.arange(stream.steps), choices]
    by_chance, best = stream.rewards.mean(axis=1), stream.rewards.max(axis=1)
    if scale == "reward":
        earned, expected = np.bincount(groups, chosen, size), np.bincount(groups, by_chance, size)
        return tuple(float(part / whole) if whole else math.nan for part, whole in zip(earned, expected, strict=True))
    regrets, of_chance = np.bincount(groups, best - chosen, size), np.bincount(groups, best - by_chance, size)
    return tuple(regret_score(float(part), float(whole)) for part, whole in zip(regrets, of_chance, strict=True))


def _exploration(board: Board, outcomes: Outcomes) -> float:
    """Return the gain of exploration of the reference method at the end of its front without communication."""
    reference, seed = board.protocol.comparison.reference, board.protocol.seeds.choosing.first
    row = next((entry for entry in board.playing if entry.name == reference), None)
    if row is None or row.front not in row.grids or "alpha" not in row.grids:
        return math.nan
    alone = {
        name: values for name, values in row.configurations.items() if values[row.front] == row.grids[row.front][0]
    }
    scores = {name: score(board, outcomes, (name, seed)) for name in alone if (name, seed) in outcomes}
    return exploration_gain(alone, scores)


def _means(rows: Sequence[tuple[float, ...]]) -> tuple[float, ...]:
    """Return the means of columns over the rows that have a number."""
    means: list[float] = pd.DataFrame(rows).mean().tolist()
    return tuple(means)


def _item_numbers(stream: EventStream) -> int:
    """Return the number of items of the data behind a stream, which is the same for all seeds."""
    return stream.item_count if stream.held_out_count is None else len(stream.held_out_count)


def _longer(array: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    return np.append(array, np.zeros(size - len(array)))


def _none_if_unknown(value: float) -> float | None:
    return None if math.isnan(value) else value


def _nan_if_none(value: float | None) -> float:
    return math.nan if value is None else float(value)
