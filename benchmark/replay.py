"""One run: an algorithm over a stream."""

import copy
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from algorithms.hyperparameters import seed as checked_seed
from algorithms.problem import Problem, trace_of
from algorithms.run import CompiledRun
from algorithms.ties import StepRandom
from algorithms.trace import Trace, Transfers
from data_pipelines import EventStream


class BuiltIn(Protocol):
    """Hyper-parameters that start a compiled run."""

    def start(self, problem: Problem, seed: int) -> CompiledRun:
        """Prepare a run over a stream."""


@runtime_checkable
class Learner(Protocol):
    """What any class needs to take part.

    It may also have `start(client_ids, dimension)`, called once before the first step, and an attribute
    `transfer_dim`, the dimension of the statistics it transfers where that is not the stream's.
    """

    def choose(self, client: int, contexts: NDArray[np.float64], rng: np.random.Generator) -> int:
        """Return the position of the chosen row of `contexts` (K, d). `rng` depends on seed and step only."""

    def learn(self, client: int, context: NDArray[np.float64], reward: float) -> Transfers:
        """Learn from the reward of the chosen row, and return the transfers that this caused."""


def replay(algorithm: BuiltIn | Learner, stream: EventStream, seed: int = 0) -> Trace:
    """Run an algorithm over a stream. The same arguments give the same trace.

    A learner is copied first, where it can be: replaying leaves it as it was.
    """
    seed = checked_seed(seed)
    if isinstance(algorithm, Learner):
        return replay_learner(_fresh(algorithm), stream, seed)
    if not hasattr(algorithm, "start"):
        raise ValueError(
            f"algorithm is {algorithm!r}; allowed are built-in algorithms and objects with choose and learn"
        )
    run = algorithm.start(stream, seed)
    run.advance()
    return run.trace()


def replay_learner(learner: Learner, stream: EventStream, seed: int) -> Trace:
    """Run a learner in plain Python, step by step."""
    clients = {int(client): number for number, client in enumerate(stream.client_ids)}
    choices = np.zeros(stream.steps, dtype=np.int32)
    uploads, downloads = np.zeros((2, stream.steps), dtype=np.int64)
    client_uploads, client_downloads = np.zeros((2, len(clients)), dtype=np.int64)
    unsettled = np.zeros(stream.steps, dtype=np.bool_)
    random = StepRandom(seed)
    if hasattr(learner, "start"):
        learner.start(stream.client_ids, stream.dimension)
    for t in range(stream.steps):
        client = int(stream.clients[t])
        contexts = stream.items[stream.pools[t]]
        choice = _checked_choice(learner.choose(client, contexts.copy(), random.at(t)), stream.arms)
        transfers = learner.learn(client, contexts[choice], float(stream.rewards[t, choice] + stream.noise[t]))
        if not isinstance(transfers, Transfers):
            raise ValueError(f"learn returned {transfers!r}; allowed is a Transfers")
        choices[t] = choice
        uploads[t] = _count(transfers.uploads, clients, client_uploads)
        downloads[t] = _count(transfers.downloads, clients, client_downloads)
        unsettled[t] = getattr(learner, "unsettled", False)
    return trace_of(
        stream,
        choices,
        uploads,
        downloads,
        client_uploads,
        client_downloads,
        unsettled=unsettled,
        transfer_dim=getattr(learner, "transfer_dim", None),
    )


def _fresh(learner: Learner) -> Learner:
    try:
        return copy.deepcopy(learner)
    except TypeError:  # it holds a lock, a generator or the like
        return learner


def _checked_choice(choice: object, arms: int) -> int:
    if not isinstance(choice, int | np.integer) or not 0 <= choice < arms:
        raise ValueError(f"choose returned {choice!r}; allowed are positions in the pool, 0 to {arms - 1}")
    return int(choice)


def _count(transferring: object, numbers: dict[int, int], totals: NDArray[np.int64]) -> int:
    ids = [int(client) for client in transferring]  # type: ignore[attr-defined]
    for client in ids:
        if client not in numbers:
            raise ValueError(f"learn reported a transfer of client {client}; allowed are the clients of the stream")
        totals[numbers[client]] += 1
    return len(ids)
