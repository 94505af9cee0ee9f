"""One run: a method over a stream."""

import copy
import sys
from collections import Counter
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from algorithms.hyperparameters import seed as checked_seed
from algorithms.messages import Federated, numbers_in_statistics
from algorithms.method import Learner, is_federated, is_learner
from algorithms.numerics.random_numbers import StepRandom
from algorithms.stream import trace_of
from algorithms.trace import Counts, Trace, Transfers
from benchmark.execution.compilation import announcement, compile_once, is_compiled
from benchmark.execution.federation import Federation, checked_choice
from data_pipelines import EventStream


def replay(method: Any, stream: EventStream, seed: int = 0) -> Trace:
    """Run a built-in method, a `Learner`, or clients and a server. The same arguments give the same trace.

    A learner is copied first, if possible, so that the caller's object does not change. A line on stderr announces the
    compilation of a built-in method, which takes up to a minute the first time.
    """
    if not is_compiled(method):
        print(announcement(), file=sys.stderr, flush=True)
        compile_once(method)
    return replay_method(method, stream, seed)


def replay_method(method: Any, stream: EventStream, seed: int) -> Trace:
    """Run a method over a stream, as `replay` does, once it is compiled."""
    seed = checked_seed(seed)
    if is_learner(method):
        with suppress(TypeError):  # it contains a lock, a generator or similar
            method = copy.deepcopy(method)
        return replay_learner(method, stream, seed)
    if is_federated(method):
        return replay_federated(method, stream, seed)
    if not hasattr(method, "start"):
        raise ValueError(
            "method must be a built-in method, or an object with the functions choose and learn, or client and server, "
            f"got {method!r}"
        )
    run = method.start(stream, seed)
    run.advance()
    trace: Trace = run.trace()
    return trace


def replay_federated(method: Federated, stream: EventStream, seed: int) -> Trace:
    """Run a method that consists of clients and a server, step by step; their messages are measured."""
    federation = Federation(method, stream, seed)
    for step in range(stream.steps):
        federation.advance(step)
    return federation.trace()


def replay_learner(learner: Learner, stream: EventStream, seed: int) -> Trace:
    """Run a learner in plain Python, step by step; its communication is what it declares."""
    clients = {int(client): number for number, client in enumerate(stream.client_ids)}
    choices = np.zeros(stream.steps, dtype=np.int32)
    by_step, by_client = (np.zeros((4, size), dtype=np.int64) for size in (stream.steps, len(clients)))
    unread: set[int] = set()  # clients with downloads since their last decision
    unsettled = np.zeros(stream.steps, dtype=np.bool_)
    random = StepRandom(seed)
    if hasattr(learner, "read_stream"):
        role = getattr(learner, "role", "contender")
        if role != "reference":  # a method that is ranked may not see the rewards
            raise ValueError(f"role must be 'reference' for a class with read_stream, got {role!r}")
        learner.read_stream(stream)
    if hasattr(learner, "start"):
        learner.start(stream.client_ids, stream.dimension)
    for t in range(stream.steps):
        client = int(stream.clients[t])
        contexts = stream.items[stream.pools[t]]
        choice = checked_choice(learner.choose(client, contexts.copy(), random.at(t)), stream.arms)
        transfers = learner.learn(client, contexts[choice], float(stream.rewards[t, choice] + stream.noise[t]))
        if not isinstance(transfers, Transfers):
            raise ValueError(f"learn must return a Transfers object, got {transfers!r}")
        choices[t] = choice
        transferring = (transfers.uploads, transfers.downloads, _with_data(transfers), {client} & unread)
        for who, in_step, of_client in zip(transferring, by_step, by_client, strict=True):
            in_step[t] = _count(who, clients, of_client)
        unread = (unread - {client}) | {int(each) for each in transfers.downloads}
        unsettled[t] = getattr(learner, "unsettled", False)
    size = numbers_in_statistics(getattr(learner, "transfer_dim", stream.dimension))
    counts = [Counts.of_one_size(*each, size_up=size, size_down=size) for each in (by_step, by_client)]
    return trace_of(stream, choices, *counts, unsettled=unsettled)


def _with_data(transfers: Transfers) -> list[int]:
    """Return the clients of the uploads that are needed."""
    uploads, empty = Counter(transfers.uploads), Counter(transfers.empty_uploads)
    for client in empty - uploads:
        raise ValueError(f"empty_uploads must be some of uploads, got client {client}")
    return [*(uploads - empty).elements()]


def _count(transferring: object, numbers: dict[int, int], totals: NDArray[np.int64]) -> int:
    ids = [int(client) for client in transferring]  # type: ignore[attr-defined]
    for client in ids:
        if client not in numbers:
            raise ValueError(f"learn must only report transfers of clients of the stream, got client {client}")
        totals[numbers[client]] += 1
    return len(ids)
