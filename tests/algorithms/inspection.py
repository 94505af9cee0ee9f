"""Read {V, b} of clients and server out of a compiled run, and compare it with the literal one."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from algorithms.async_linucb import AsyncLinUCBRun
from algorithms.async_linucb_am import AsyncLinUCBAMRun
from algorithms.elimination import new_system
from algorithms.literal import EventTriggeredProtocol
from algorithms.pending import add_rows, add_unsent
from algorithms.protocol import NEWEST, Protocol, base_of, catch_up, write_model

Array = NDArray[np.float64]


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
    """Put a client's statistics together as it would itself when it next acts."""
    d = protocol.versions.b.shape[1]
    catch_up(protocol, client)
    rows = new_system(d, 0).rows
    write_model(protocol, client, rows, d)
    pending_V, pending_b = np.zeros((d, d)), np.zeros(d)
    add_unsent(protocol.pending, client, pending_V, pending_b)
    base = base_of(protocol, client)
    agreed_V, agreed_b = protocol.versions.V[base].copy(), protocol.versions.b[base].copy()
    pending = protocol.pending
    uploaded = pending.own[client] - pending.unsent[client]
    add_rows(pending, client, pending.unsent[client], uploaded, agreed_V, agreed_b)
    return View(rows[:, :d].copy(), rows[:, d].copy(), pending_V, pending_b, agreed_V)


def server_view(protocol: Protocol) -> tuple[Array, Array]:
    """Return the server's {V_g, b_g}."""
    newest = protocol.versions.counters[NEWEST]
    return protocol.versions.V[newest], protocol.versions.b[newest]


def assert_same_statistics(
    run: AsyncLinUCBRun | AsyncLinUCBAMRun, literal: EventTriggeredProtocol, b_tolerance: float = 1e-8
) -> None:
    """Server and every client agree to 1e-8 relative."""
    server_V, server_b = server_view(run.protocol)
    _assert_close(server_V, literal.server.V)
    _assert_close(server_b, literal.server.b, b_tolerance)
    for client in known_clients(run):
        name = int(run.problem.client_ids[client])
        view = client_view(run.protocol, client)
        _assert_close(view.V, literal.copy[name].V)
        _assert_close(view.b, literal.copy[name].b, b_tolerance)
        _assert_close(view.pending_V, literal.pending[name].V)
        _assert_close(view.pending_b, literal.pending[name].b, b_tolerance)


def _assert_close(ours: Array, theirs: Array, tolerance: float = 1e-8) -> None:
    largest = max(1.0, np.abs(theirs).max(initial=0.0))
    np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance * largest)
