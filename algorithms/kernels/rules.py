"""All rules, compiled as one kernel: tables give every offered item a score, and change after the choice."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from algorithms.compiled_run import Events, SilentRun
from algorithms.methods.rules import FIXED, ITEM_REWARDS, MOST_POPULAR, NEVER_OFFERED, HindsightLinear, Rule
from algorithms.numerics.jit import compiled, entry_point
from algorithms.numerics.ties import pick_compiled
from algorithms.stream import Stream, pair_numbers


class State(NamedTuple):
    """The tables of a rule.

    `sums` has an entry for each item, or for each pair of client and item; `entries` has its position for each offered
    arm. `counts` has an entry for each item.
    """

    events: Events
    rule: int
    seed: int
    entries: NDArray[np.int32]
    sums: NDArray[np.float64]
    counts: NDArray[np.float64]
    scores: NDArray[np.float64]
    choices: NDArray[np.int32]


class RuleRun(SilentRun):
    """One run of a rule."""

    def __init__(self, method: Rule, problem: Stream, seed: int) -> None:
        super().__init__(problem)
        by_pair = getattr(method, "per_client", False)
        entries, size = pair_numbers(problem) if by_pair else (problem.pools, len(problem.items))
        sums = item_scores(problem, method.ridge) if isinstance(method, HindsightLinear) else np.zeros(size)
        counts, scores = np.zeros(len(problem.items)), np.zeros(problem.pools.shape[1])
        self.state = State(self.events, method.rule, seed, entries, sums, counts, scores, self.choices)

    def _advance(self, start: int, stop: int) -> int:
        return _run(start, stop, self.refer(self.state))


def item_scores(stream: Stream, ridge: float) -> NDArray[np.float64]:
    """Return xᵀθ of HindsightLinear for each item; in θ, each item counts as often as it was offered."""
    offered = stream.pools.ravel()
    counts = np.bincount(offered, minlength=len(stream.items))
    sums = np.bincount(offered, weights=stream.rewards.ravel(), minlength=len(stream.items))
    V = stream.items.T @ (stream.items * counts[:, None])
    try:
        theta = np.linalg.solve(V + ridge * np.eye(len(V)), stream.items.T @ sums)
    except np.linalg.LinAlgError:
        raise ArithmeticError("no linear model can be fitted; the features are too large, or ridge too small") from None
    return np.asarray(stream.items @ theta, dtype=np.float64)


@entry_point
def _run(start: int, stop: int, state: State) -> int:
    """Score the pool, choose, change the tables; return the step it stopped at, earlier where scores are not finite."""
    for t in range(start, stop):
        _score(state, t)
        choice = pick_compiled(state.scores, state.scores.size, state.seed, t)
        if choice < 0:
            return t
        state.choices[t] = choice
        _learn(state, t, choice)
    return stop


@compiled
def _score(state: State, t: int) -> None:
    """Write the score of each offered item: its sum, unless the rule says otherwise."""
    rule, pool, entries, sums, counts = state.rule, state.events.pools[t], state.entries[t], state.sums, state.counts
    new_items = 0
    if rule == NEVER_OFFERED:
        for arm in range(pool.size):
            if sums[entries[arm]] == 0.0:
                new_items += 1
    for arm in range(pool.size):
        score = sums[entries[arm]]
        if rule == ITEM_REWARDS:
            score = score / (counts[pool[arm]] + 1.0)
        elif rule == NEVER_OFFERED:
            score = -1.0 if new_items > 0 and score > 0.0 else counts[pool[arm]]
        state.scores[arm] = score


@compiled
def _learn(state: State, t: int, choice: int) -> None:
    """Add what the rule uses: the observed reward of the choice, or the rewards or the offers of the whole pool."""
    rule, events, entries, sums, counts = state.rule, state.events, state.entries[t], state.sums, state.counts
    pool = events.pools[t]
    if rule == ITEM_REWARDS:
        sums[entries[choice]] += events.rewards[t, choice] + events.noise[t]
        counts[pool[choice]] += 1.0
    elif rule != FIXED:
        for arm in range(pool.size):
            sums[entries[arm]] += events.rewards[t, arm] if rule == MOST_POPULAR else 1.0
            counts[pool[arm]] += 1.0
