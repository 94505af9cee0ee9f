"""FedIGW with a linear model, compiled.

Every client decides with the server's θ, because it is sent each one, and the current one when it joins. After an
exchange the server has all data so far. So neither clients nor messages need a state of their own.
"""

import math
from collections.abc import Iterator
from itertools import takewhile
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from algorithms.compiled_run import CompiledRun, Events
from algorithms.exchange.read_ahead import read_arms_ahead
from algorithms.exchange.schedule import Schedule
from algorithms.methods.fed_igw import RULES, FedIGW
from algorithms.numerics.elimination import System, eliminate, new_system, substitute_back
from algorithms.numerics.jit import compiled, entry_point
from algorithms.numerics.pseudo_inverse import dot
from algorithms.numerics.random_numbers import CHOICE, uniform
from algorithms.numerics.small_loops import add_rank_one
from algorithms.numerics.ties import pick_compiled
from algorithms.stream import Stream, trace_of
from algorithms.trace import Trace

IGW, SOFTMAX = RULES.index("igw"), RULES.index("softmax")


class State(NamedTuple):
    """Everything that a step reads and changes."""

    events: Events
    seed: int
    rule: int
    """The position of the rule in `RULES`."""
    sharpness: float
    ridge: float
    ends_epoch: NDArray[np.bool_]
    """Whether a step is the last one of an epoch."""
    V: NDArray[np.float64]
    b: NDArray[np.float64]
    theta: NDArray[np.float64]
    observations: NDArray[np.int64]
    """The number of observations that θ is estimated from, in an array of length 1."""
    system: System
    ignored: NDArray[np.float64]
    """The solution for the second right-hand side of the system, which is not used."""
    estimates: NDArray[np.float64]
    probabilities: NDArray[np.float64]
    choices: NDArray[np.int32]


class FedIGWRun(CompiledRun):
    """One run of FedIGW."""

    def __init__(self, method: FedIGW, problem: Stream, seed: int) -> None:
        super().__init__(problem)
        dimension, arms = problem.items.shape[1], problem.pools.shape[1]
        self._ends = np.array([*takewhile(lambda end: end <= self.steps, _ends(method.longest))], dtype=np.int64)
        ends_epoch = np.zeros(self.steps, dtype=np.bool_)
        ends_epoch[self._ends - 1] = True
        self.state = State(
            events=self.events,
            seed=seed,
            rule=RULES.index(method.rule),
            sharpness=method.sharpness,
            ridge=method.ridge,
            ends_epoch=ends_epoch,
            V=np.zeros((dimension, dimension)),
            b=np.zeros(dimension),
            theta=np.zeros(dimension),
            observations=np.zeros(1, dtype=np.int64),
            system=new_system(dimension, 1),
            ignored=np.zeros(dimension),
            estimates=np.zeros(arms),
            probabilities=np.zeros(arms),
            choices=self.choices,
        )

    def _advance(self, start: int, stop: int) -> int:
        return _run(start, stop, self.refer(self.state))

    def trace(self) -> Trace:
        """Return the trace of the run: uploads of clients with new data, downloads to all known and to new ones."""
        schedule = Schedule(self.problem, self._ends)
        uploads, welcomes = schedule.with_data(schedule.before), schedule.welcomes()
        downloads = schedule.of_all().and_also(welcomes)
        needed = schedule.needed_downloads().and_also(welcomes)
        size = self.problem.items.shape[1]
        counts = schedule.counts(uploads, downloads, uploads, needed, size_down=size)
        return trace_of(self.problem, self.choices, *counts)


def _ends(longest: float) -> Iterator[int]:
    """Yield the numbers of steps after which epochs end."""
    end, length = 0, 1.0
    while True:
        length = min(2 * length, longest)
        end += int(length)
        yield end


@entry_point
def _run(start: int, stop: int, state: State) -> int:
    """Choose, learn, exchange; return the step it stopped at, earlier where estimates are not finite."""
    events = state.events
    for t in range(start, stop):
        pool = events.pools[t]
        for arm in range(pool.size):
            state.estimates[arm] = dot(events.items[pool[arm]], state.theta)
        if t + 1 < stop:
            read_arms_ahead(events.items, events.pools[t + 1])
        best = pick_compiled(state.estimates, pool.size, state.seed, t)
        if best < 0:
            return t
        set_probabilities(state, best)
        choice = draw(state.probabilities, uniform(state.seed, t, CHOICE))
        state.choices[t] = choice
        reward = events.rewards[t, choice] + events.noise[t]
        add_rank_one(state.V, state.b, events.items[pool[choice]], reward)
        if state.ends_epoch[t]:
            estimate(state)
            state.observations[0] = t + 1
    return stop


@compiled
def set_probabilities(state: State, best: int) -> None:
    """Set p_k: by the rule for all arms but the best, which has the rest; or in proportion, for softmax."""
    estimates, probabilities, c = state.estimates, state.probabilities, state.sharpness
    arms = estimates.size
    if state.rule == SOFTMAX:
        largest = estimates[best]
        for arm in range(arms):
            largest = max(largest, estimates[arm])
        total = 0.0
        for arm in range(arms):
            probabilities[arm] = math.exp(c * (estimates[arm] - largest))
            total += probabilities[arm]
        for arm in range(arms):
            probabilities[arm] /= total
        return
    g = c * math.sqrt(arms * state.observations[0] / state.theta.size)
    others = 0.0
    for arm in range(arms):
        if arm != best:
            if state.rule == IGW:
                probabilities[arm] = 1.0 / (arms + g * max(estimates[best] - estimates[arm], 0.0))
            else:
                probabilities[arm] = 1.0 / (arms * max(c, 1.0))
            others += probabilities[arm]
    probabilities[best] = 1.0 - others


@compiled
def draw(probabilities: NDArray[np.float64], u: float) -> int:
    """Return the smallest k with u < p_1 + … + p_k, or else the last arm."""
    total = 0.0
    for arm in range(probabilities.size):
        total += probabilities[arm]
        if u < total:
            return arm
    return probabilities.size - 1


@compiled
def estimate(state: State) -> None:
    """θ = V(λ)⁻¹b."""
    d = state.b.size
    for i in range(d):
        row, from_row = state.system.rows[i], state.V[i]
        for j in range(d):
            row[j] = from_row[j]
        row[d] = 0.0
        row[d + 1] = state.b[i]
    eliminate(state.system, d, 1, state.ridge)
    substitute_back(state.system, d, state.theta, state.ignored)
