"""One run: a method over a stream."""

import copy
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from algorithms.compiled_run import CompiledRun
from algorithms.hyperparameters import seed as checked_seed
from algorithms.numerics.ties import StepRandom
from algorithms.stream import Stream, trace_of
from algorithms.trace import Trace, Transfers
from benchmark.execution.compilation import announced
from data_pipelines import EventStream


class BuiltIn(Protocol):
    """Hyper-parameters that start a compiled run."""

    def start(self, problem: Stream, seed: int) -> CompiledRun:
        """Prepare a run over a stream."""


@runtime_checkable
class Learner(Protocol):
    """The interface of your own methods.

    It may also have `start(client_ids, dimension)`, called once before the first step, and an attribute
    `transfer_dim`: the dimension of the statistics it transfers, if it differs from the stream's. With `role =
    "reference"`, which is not ranked, it may have `read_stream(stream)`, called before: item ids and all rewards.
    """

    def choose(self, client: int, contexts: NDArray[np.float64], rng: np.random.Generator) -> int:
        """Return the index of the chosen row of `contexts` (K, d). `rng` depends on seed and step only."""

    def learn(self, client: int, context: NDArray[np.float64], reward: float) -> Transfers:
        """Learn from the reward of the chosen row, and return the transfers that it caused."""


def replay(method: BuiltIn | Learner, stream: EventStream, seed: int = 0) -> Trace:
    """Run a method over a stream. The same arguments give the same trace.

    A learner is copied first, if possible, so that the caller's object does not change. A line on stderr announces the
    compilation of a built-in method, which takes up to a minute the first time.
    """
    seed = checked_seed(seed)
    if isinstance(method, Learner):
        return replay_learner(_fresh(method), stream, seed)
    if not hasattr(method, "start"):
        raise ValueError(
            f"method must be a built-in method or an object with the functions choose and learn, got {method!r}"
        )
    with announced(method):
        run = method.start(stream, seed)
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
    if hasattr(learner, "read_stream"):
        _require_reference(learner)
        learner.read_stream(stream)
    if hasattr(learner, "start"):
        learner.start(stream.client_ids, stream.dimension)
    for t in range(stream.steps):
        client = int(stream.clients[t])
        contexts = stream.items[stream.pools[t]]
        choice = _checked_choice(learner.choose(client, contexts.copy(), random.at(t)), stream.arms)
        transfers = learner.learn(client, contexts[choice], float(stream.rewards[t, choice] + stream.noise[t]))
        if not isinstance(transfers, Transfers):
            raise ValueError(f"learn must return a Transfers object, got {transfers!r}")
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
    except TypeError:  # it contains a lock, a generator or similar
        return learner


def _require_reference(learner: Learner) -> None:
    """Refuse to show the stream, with all its rewards, to a method that is ranked."""
    role = getattr(learner, "role", "contender")
    if role != "reference":
        raise ValueError(f"role must be 'reference' for a class with read_stream, got {role!r}")


def _checked_choice(choice: object, arms: int) -> int:
    if not isinstance(choice, int | np.integer) or not 0 <= choice < arms:
        raise ValueError(f"choose must return the index of an arm from 0 to {arms - 1}, got {choice!r}")
    return int(choice)


def _count(transferring: object, numbers: dict[int, int], totals: NDArray[np.int64]) -> int:
    ids = [int(client) for client in transferring]  # type: ignore[attr-defined]
    for client in ids:
        if client not in numbers:
            raise ValueError(f"learn must only report transfers of clients of the stream, got client {client}")
        totals[numbers[client]] += 1
    return len(ids)
