"""Compare traces, and {V, b} of clients and server, of a compiled run with those of the literal one."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from algorithms.exchange.pending import add_rows, add_unsent
from algorithms.exchange.protocol import Protocol, base_of, catch_up, write_model
from algorithms.kernels.async_linucb import AsyncLinUCBRun
from algorithms.kernels.async_linucb_am import AsyncLinUCBAMRun
from algorithms.method import FederatedMethod
from algorithms.numerics.elimination import new_system
from algorithms.numerics.jit import entry_point
from algorithms.trace import Counts, Trace
from benchmark import EventStream
from benchmark.execution.federation import Federation

Array = NDArray[np.float64]
PER_STEP = ("choices", "rewards", "unsettled", "regret", *Counts._fields)
PER_CLIENT = ("client_rewards", *(f"client_{name}" for name in Counts._fields))


def python_callable(kernel: Any) -> Any:
    """Return a form of an inner kernel that a test can call."""
    return entry_point(getattr(kernel, "py_func", kernel))


_catch_up, _base_of, _write_model = python_callable(catch_up), python_callable(base_of), python_callable(write_model)
_add_rows, _add_unsent = python_callable(add_rows), python_callable(add_unsent)


def assert_same_trace(actual: Trace, expected: Trace) -> bool:
    """Compare two traces, up to the first step at which an alternation has not converged; return whether all have."""
    unsettled = np.flatnonzero(actual.unsettled | expected.unsettled)
    stop = unsettled[0] if len(unsettled) else None
    for name in PER_STEP:
        np.testing.assert_array_equal(getattr(actual, name)[:stop], getattr(expected, name)[:stop], err_msg=name)
    for name in PER_CLIENT if stop is None else ():
        np.testing.assert_array_equal(getattr(actual, name), getattr(expected, name), err_msg=name)
    return stop is None


@dataclass(frozen=True)
class View:
    """One client's statistics."""

    V: Array
    b: Array
    pending_V: Array
    pending_b: Array
    agreed_V: Array


def known_clients(run: AsyncLinUCBRun | AsyncLinUCBAMRun) -> list[int]:
    """Return the numbers of the clients that have acted."""
    return np.flatnonzero(run.protocol.group >= 0).tolist()


def client_view(protocol: Protocol, client: int) -> View:
    """Assemble a client's statistics as they will be when it next acts."""
    d = protocol.versions.b.shape[1]
    _catch_up(protocol, client)
    rows = new_system(d, 0).rows
    _write_model(protocol, client, rows, d)
    pending_V, pending_b = np.zeros((d, d)), np.zeros(d)
    _add_unsent(protocol.pending, client, pending_V, pending_b)
    base = _base_of(protocol, client)
    agreed_V, agreed_b = protocol.versions.V[base].copy(), protocol.versions.b[base].copy()
    pending = protocol.pending
    uploaded_rows = pending.own[client] - pending.unsent[client]
    _add_rows(pending, client, pending.unsent[client], uploaded_rows, agreed_V, agreed_b)
    return View(rows[:, :d].copy(), rows[:, d].copy(), pending_V, pending_b, agreed_V)


def server_view(protocol: Protocol) -> tuple[Array, Array]:
    """Return the server's {V_g, b_g}."""
    newest = protocol.versions.newest[0]
    return protocol.versions.V[newest], protocol.versions.b[newest]


def replay_literally(algorithm: FederatedMethod, stream: EventStream, seed: int) -> Federation:
    """Run clients and server of a method over a stream; return them with all they know at the end."""
    federation = Federation(algorithm, stream, seed)
    for step in range(stream.steps):
        federation.advance(step)
    return federation


def assert_same_statistics(
    run: AsyncLinUCBRun | AsyncLinUCBAMRun, literal: Federation, b_tolerance: float = 1e-8
) -> None:
    """Check that server and clients have the same statistics, to a relative tolerance of 1e-8."""
    server_V, server_b = server_view(run.protocol)
    _assert_close(server_V, literal.server.state.V)
    _assert_close(server_b, literal.server.state.b, b_tolerance)
    for number in known_clients(run):
        view, client = client_view(run.protocol, number), literal.clients[number]
        _assert_close(view.V, client.model.V)
        _assert_close(view.b, client.model.b, b_tolerance)
        _assert_close(view.pending_V, client.pending.V)
        _assert_close(view.pending_b, client.pending.b, b_tolerance)


def _assert_close(actual: Array, expected: Array, tolerance: float = 1e-8) -> None:
    largest = max(1.0, np.abs(expected).max(initial=0.0))
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance * largest)
