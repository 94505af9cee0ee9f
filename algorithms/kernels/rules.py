"""All rules, compiled as one kernel: tables give every offered item a score, and change after the choice."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from algorithms.compiled_run import CompiledRun, Events
from algorithms.methods.rules import (
    COSINE_FACTOR,
    FIXED,
    ITEM_REWARDS,
    MOST_POPULAR,
    NEVER_OFFERED,
    OTHER_FEATURES,
    PRIOR_WEIGHT,
    RANDOM,
    ROCCHIO,
    CosinePopularity,
    HeldOutLikes,
    HeldOutPopularity,
    HindsightLinear,
    Rule,
)
from algorithms.numerics.jit import compiled, entry_point
from algorithms.numerics.pseudo_inverse import dot
from algorithms.numerics.random_numbers import TIES, uniform
from algorithms.numerics.small_loops import add_scaled
from algorithms.numerics.ties import pick_compiled
from algorithms.stream import Stream, pair_numbers, silent_trace
from algorithms.trace import Trace


class State(NamedTuple):
    """The tables of a rule.

    `sums` has an entry for each item, for each row of features or for each pair of client and item; `entries` has its
    position for each offered arm. `counts` has an entry for each item, and `offered` the items of all pools. `profiles`
    has Σ x·y of each client, for Rocchio's rule only.
    """

    events: Events
    rule: int
    seed: int
    offered: NDArray[np.int32]
    entries: NDArray[np.int32]
    sums: NDArray[np.float64]
    counts: NDArray[np.float64]
    profiles: NDArray[np.float64]
    scores: NDArray[np.float64]
    choices: NDArray[np.int32]


class RuleRun(CompiledRun):
    """One run of a rule."""

    def __init__(self, method: Rule, problem: Stream, seed: int) -> None:
        super().__init__(problem)
        clients = len(problem.client_ids) if method.rule == ROCCHIO else 0
        entries, sums = _tables(method, problem)
        self.state = State(
            events=self.events,
            rule=method.rule,
            seed=seed,
            offered=problem.offered_items,
            entries=entries,
            sums=sums,
            counts=np.zeros(problem.item_count),
            profiles=np.zeros((clients, problem.items.shape[1])),
            scores=np.zeros(problem.pools.shape[1]),
            choices=self.choices,
        )

    def _advance(self, start: int, stop: int) -> int:
        return _run(start, stop, self.refer(self.state))

    def trace(self) -> Trace:
        """Return the trace of the run: nothing is sent."""
        return silent_trace(self.problem, self.choices)


def _tables(method: Rule, stream: Stream) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return the positions of all offered arms in a table of scores or sums, and that table before the first step."""
    if isinstance(method, HindsightLinear):
        return stream.pools, _linear_scores(stream, method.ridge)
    if isinstance(method, CosinePopularity):
        return stream.pools, _cosine_scores(stream)
    if isinstance(method, HeldOutPopularity | HeldOutLikes):
        return stream.offered_items, _held_out_scores(stream, by_likes=isinstance(method, HeldOutLikes))
    if getattr(method, "per_client", False):
        entries, pairs = pair_numbers(stream)
        return entries, np.zeros(pairs)
    return stream.offered_items, np.zeros(stream.item_count)


def _held_out_scores(stream: Stream, *, by_likes: bool) -> NDArray[np.float64]:
    """Return for each item its number of held-out users, or their share of likes."""
    count, likes = stream.held_out_count, stream.held_out_likes
    assert count is not None, "the rule requires held-out users"
    if not by_likes:
        return count.astype(np.float64)
    assert likes is not None, "the rule requires their likes"
    mean = likes.sum() / max(count.sum(), 1)
    return np.asarray((likes + PRIOR_WEIGHT * mean) / (count + PRIOR_WEIGHT))


def _cosine_scores(stream: Stream) -> NDArray[np.float64]:
    """Return p·q + log(1+n) / max log(1+n) for each row."""
    assert stream.held_out_count is not None, "the rule requires held-out users"
    assert stream.item_of_row is not None, "the rule requires features of pairs"
    popularity = np.log1p(stream.held_out_count)
    cosines = stream.items[:, :-OTHER_FEATURES].sum(axis=1) * COSINE_FACTOR
    return np.asarray(cosines + (popularity / max(popularity.max(), 1e-300))[stream.item_of_row])


def _linear_scores(stream: Stream, ridge: float) -> NDArray[np.float64]:
    """Return xᵀθ of HindsightLinear for each row; in θ, each row counts as often as it was offered."""
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
        if state.rule == RANDOM:  # all scores are equal
            state.choices[t] = int(uniform(state.seed, t, TIES) * state.scores.size)
            continue
        _score(state, t)
        choice = pick_compiled(state.scores, state.scores.size, state.seed, t)
        if choice < 0:
            return t
        state.choices[t] = choice
        _learn(state, t, choice)
    return stop


@compiled
def _score(state: State, t: int) -> None:
    """Write the score of each offered item: its entry of the table, unless the rule says otherwise."""
    rule, pool, entries, sums, counts = state.rule, state.offered[t], state.entries[t], state.sums, state.counts
    if rule == ROCCHIO:
        profile = state.profiles[state.events.clients[t]]
        for arm in range(pool.size):
            state.scores[arm] = dot(state.events.items[state.events.pools[t, arm]], profile)
        return
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
    pool, reward = state.offered[t], events.rewards[t, choice] + events.noise[t]
    if rule == ROCCHIO:
        add_scaled(state.profiles[events.clients[t]], events.items[events.pools[t, choice]], reward)
    elif rule == ITEM_REWARDS:
        sums[entries[choice]] += reward
        counts[pool[choice]] += 1.0
    elif rule != FIXED:
        for arm in range(pool.size):
            sums[entries[arm]] += events.rewards[t, arm] if rule == MOST_POPULAR else 1.0
            counts[pool[arm]] += 1.0
