"""Private-FedLinUCB, compiled.

The server only uses sums over clients. So the partial sums are kept for all clients together, and the noise of a
synchronisation is summed over clients; only the batch of each client, with which it decides, is its own.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from algorithms.compiled_run import CompiledRun, Events
from algorithms.exchange.pending import Pending, condense, forget, new_pending, record, write_model
from algorithms.exchange.read_ahead import read_arms_ahead, read_own_data_ahead
from algorithms.exchange.schedule import Schedule, Tally
from algorithms.hyperparameters import Confidence, confidence_of
from algorithms.methods.private_fed_linucb import PrivateFedLinUCB
from algorithms.numerics.elimination import System, new_system, place_arms, score
from algorithms.numerics.jit import entry_point
from algorithms.numerics.random_numbers import PRIVACY, fill_with_normals
from algorithms.numerics.small_loops import add_rank_one
from algorithms.numerics.ties import pick_compiled
from algorithms.stream import Stream, trace_of
from algorithms.trace import Trace

Flat = NDArray[np.float64]
"""{V, b} in one array: V row by row, then b."""


class State(NamedTuple):
    """Everything that a step reads and changes."""

    events: Events
    confidence: Confidence
    seed: int
    pending: Pending
    """The batches of clients, Q; its items are scaled to length 1 at most."""
    joined_at: NDArray[np.int64]
    seen: NDArray[np.int64]
    """For each client, the number of synchronisations before it last acted."""
    synchronisations: NDArray[np.int64]
    """The number of synchronisations so far, in an array of length 1."""
    batch_V: NDArray[np.float64]
    batch_b: NDArray[np.float64]
    """The sum of all batches."""
    total_V: NDArray[np.float64]
    """The total that clients downloaded, plus (Λ - λ)I: no eigenvalue is negative, and λ is added for each decision."""
    total_b: NDArray[np.float64]
    empty_V: NDArray[np.float64]
    empty_b: NDArray[np.float64]
    system: System
    choices: NDArray[np.int32]


class PrivateFedLinUCBRun(CompiledRun):
    """One run of Private-FedLinUCB."""

    def __init__(self, method: PrivateFedLinUCB, problem: Stream, seed: int) -> None:
        super().__init__(problem)
        self.method, self._sigma = method, method.noise(self.steps)
        self._period = int(min(method.period, self.steps + 1))
        self._schedule = Schedule(problem, np.arange(self._period, self.steps + 1, self._period))
        d, clients = problem.items.shape[1], len(problem.client_ids)
        self._batch, self._total, self._empty = np.zeros((3, d * d + d))
        self._sums, self._noisy_sums = np.zeros((2, method.levels(self.steps), d * d + d))  # P and R of all clients
        self._draws = np.zeros(d * d + d)
        self.state = State(
            events=self.events,
            confidence=confidence_of(method),
            seed=seed,
            pending=new_pending(_scaled(problem.items), 0, d, clients, self.steps),
            joined_at=self._schedule.joined_at,
            seen=np.zeros(clients, dtype=np.int64),
            synchronisations=np.zeros(1, dtype=np.int64),
            batch_V=_matrix(self._batch, d),
            batch_b=self._batch[d * d :],
            total_V=_matrix(self._total, d),
            total_b=self._total[d * d :],
            empty_V=_matrix(self._empty, d),
            empty_b=self._empty[d * d :],
            system=new_system(d, problem.pools.shape[1]),
            choices=self.choices,
        )
        self._noise(0)  # of no client: compiles the kernel before the first step

    def _advance(self, start: int, stop: int) -> int:
        while start < stop:
            end = min(stop, start - start % self._period + self._period)
            reached = _run(start, end, self.refer(self.state))
            if reached < end:
                return reached
            if end % self._period == 0:
                self.hold_phase(end // self._period)
            start = end
        return stop

    def hold_phase(self, number: int) -> None:
        """Synchronise: set P[j] and R[j], the total, and with it Λ."""
        level = (number & -number).bit_length() - 1
        self._sums[level] = self._batch + self._sums[:level].sum(axis=0)
        self._batch[:] = 0
        self._noisy_sums[level] = self._sums[level] + self._noise(number)
        is_set = [number >> bit & 1 == 1 for bit in range(len(self._sums))]
        self._total[:] = self._noisy_sums[is_set].sum(axis=0)
        total_V, clients = self.state.total_V, int(np.count_nonzero(self.state.joined_at < number))
        ridge = self.method.ridge_with_noise(total_V, clients, self.steps)
        total_V[np.diag_indices_from(total_V)] += ridge - self.method.ridge
        self.state.synchronisations[0] = number

    def _noise(self, number: int) -> Flat:
        """Return the sum of the noise of all known clients."""
        noise: Flat = np.zeros_like(self._batch)
        if self._sigma > 0:
            _add_draws(noise, self._draws, self.state.joined_at, number, self.state.seed)
            G = _matrix(noise, len(self.state.total_b))
            G[:] = (G + G.T) / 2
            noise *= self._sigma
        return noise

    def trace(self) -> Trace:
        """Return the trace of the run: a synchronisation is one upload and one download of every known client."""
        of_all, needed_down = self._schedule.of_all(), self._schedule.needed_downloads()
        needed_up = of_all if self._sigma > 0 else self._uploads_with_data()
        return trace_of(self.problem, self.choices, *self._schedule.counts(of_all, of_all, needed_up, needed_down))

    def _uploads_with_data(self) -> Tally:
        """Return the uploads with observations: P[j] of synchronisation k has those of the last 2^j batches."""
        before, tallies = self._schedule.before, []
        for level in range(len(self._sums)):
            block = before >> level
            is_sent = block % 2 == 0  # k = (block + 1) · 2^j, and j is its lowest set bit
            tallies.append(self._schedule.with_data(np.where(is_sent, ((block + 1) << level) - 1, len(before))))
        return Tally(*(sum(parts) for parts in zip(*tallies, strict=True)))


def _matrix(values: Flat, dimension: int) -> NDArray[np.float64]:
    """Return V, without a copy."""
    return values[: dimension * dimension].reshape(dimension, dimension)


def _scaled(items: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return x / max(1, ‖x‖) for each row; without a copy if nothing changes."""
    lengths = np.linalg.norm(items, axis=1)
    return items / np.maximum(lengths, 1)[:, None] if lengths.max(initial=0) > 1 else items


@entry_point
def _run(start: int, stop: int, state: State) -> int:
    """Choose and learn; return the step it stopped at, earlier where scores are not finite."""
    events, pending, system = state.events, state.pending, state.system
    dimension, synchronisations = events.items.shape[1], state.synchronisations[0]
    for t in range(start, stop):
        client = events.clients[t]
        pool = events.pools[t]
        if state.seen[client] < synchronisations:
            forget(pending, client)
            state.seen[client] = synchronisations
        place_arms(system, events.items, pool, 0, dimension)
        if state.joined_at[client] < synchronisations:
            base_V, base_b = state.total_V, state.total_b
        else:
            base_V, base_b = state.empty_V, state.empty_b
        write_model(pending, client, base_V, base_b, system.rows, dimension + pool.size)
        if t + 1 < stop:
            read_arms_ahead(events.items, events.pools[t + 1])
            read_own_data_ahead(pending, events.clients[t + 1])
        score(system, dimension, state.confidence)
        choice = pick_compiled(system.scores, pool.size, state.seed, t)
        if choice < 0:
            return t
        state.choices[t] = choice
        reward = min(max(events.rewards[t, choice] + events.noise[t], -1.0), 1.0)
        record(pending, client, t, pool[choice], reward)
        if pending.slot[client] < 0 and pending.own[client] > pending.row_limit:
            condense(pending, client)
        add_rank_one(state.batch_V, state.batch_b, pending.items[pool[choice]], reward)
    return stop


@entry_point
def _add_draws(total: Flat, draws: Flat, joined_at: NDArray[np.int64], number: int, seed: int) -> None:
    """Add the normals that all known clients draw for their next message."""
    for client in range(joined_at.size):
        earlier = number - 1 - joined_at[client]
        if earlier >= 0:
            fill_with_normals(draws, seed, earlier, PRIVACY, 1 + client)
            for place in range(total.size):
                total[place] += draws[place]
