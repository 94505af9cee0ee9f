"""One run: a method over a stream."""

import copy
import sys
from collections import Counter
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from algorithms.hyperparameters import seed as checked_seed
from algorithms.method import Learner
from algorithms.numerics.ties import StepRandom
from algorithms.stream import trace_of
from algorithms.trace import Counts, Trace, Transfers
from benchmark.execution.compilation import announcement, compile_once, is_compiled
from data_pipelines import EventStream


def replay(method: Any, stream: EventStream, seed: int = 0) -> Trace:
    """Run a built-in method or a `Learner` over a stream. The same arguments give the same trace.

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
    if hasattr(method, "choose") and hasattr(method, "learn"):
        with suppress(TypeError):  # it contains a lock, a generator or similar
            method = copy.deepcopy(method)
        return replay_learner(method, stream, seed)
    if not hasattr(method, "start"):
        raise ValueError(
            f"method must be a built-in method or an object with the functions choose and learn, got {method!r}"
        )
    run = method.start(stream, seed)
    run.advance()
    trace: Trace = run.trace()
    return trace


def replay_learner(learner: Learner, stream: EventStream, seed: int) -> Trace:
    """Run a learner in plain Python, step by step."""
    clients = {int(client): number for number, client in enumerate(stream.client_ids)}
    choices = np.zeros(stream.steps, dtype=np.int32)
    by_step, by_client = (Counts(*np.zeros((4, size), dtype=np.int64)) for size in (stream.steps, len(clients)))
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
        choice = _checked_choice(learner.choose(client, contexts.copy(), random.at(t)), stream.arms)
        transfers = learner.learn(client, contexts[choice], float(stream.rewards[t, choice] + stream.noise[t]))
        if not isinstance(transfers, Transfers):
            raise ValueError(f"learn must return a Transfers object, got {transfers!r}")
        choices[t] = choice
        transferring = (transfers.uploads, transfers.downloads, _with_data(transfers), {client} & unread)
        for who, in_step, of_client in zip(transferring, by_step, by_client, strict=True):
            in_step[t] = _count(who, clients, of_client)
        unread = (unread - {client}) | {int(each) for each in transfers.downloads}
        unsettled[t] = getattr(learner, "unsettled", False)
    return trace_of(
        stream,
        choices,
        by_step,
        by_client,
        unsettled=unsettled,
        transfer_dim=getattr(learner, "transfer_dim", None),
    )


def _with_data(transfers: Transfers) -> list[int]:
    """Return the clients of the uploads that are needed."""
    uploads, empty = Counter(transfers.uploads), Counter(transfers.empty_uploads)
    for client in empty - uploads:
        raise ValueError(f"empty_uploads must be some of uploads, got client {client}")
    return [*(uploads - empty).elements()]


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
