"""Invariants that hold after every step, in both implementations."""

import math
from collections.abc import Iterator

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from algorithms import AsyncLinUCB, AsyncLinUCBAM
from algorithms.literal import literal
from benchmark import EventStream
from benchmark.execution.federation import Federation
from benchmark.execution.replay import replay
from data_pipelines import simulate
from tests.algorithms.inspection import client_view, known_clients, server_view
from tests.streams import gammas, streams, thresholds


def _close(left: np.ndarray, right: np.ndarray) -> None:
    np.testing.assert_allclose(left, right, atol=1e-9 * max(1.0, np.abs(right).max(initial=0)), rtol=1e-9)


@given(streams(max_steps=60), st.data())
def test_in_compiled_runs_agreed_plus_pending_is_the_model_and_server_plus_all_pending_is_all_data(
    stream: EventStream, data: st.DataObject
) -> None:
    choice = gammas(len(stream.client_ids))
    algorithm = AsyncLinUCB(gamma_upload=data.draw(choice), gamma_download=data.draw(choice))
    run = algorithm.start(stream, 0)
    all_data = np.zeros((stream.dimension, stream.dimension))
    for t in range(stream.steps):
        run.advance(t + 1)
        x = stream.items[stream.pools[t, run.choices[t]]]
        all_data += np.outer(x, x)
        total = server_view(run.protocol)[0].copy()
        for client in known_clients(run):
            view = client_view(run.protocol, client)
            _close(view.agreed_V + view.pending_V, view.V)
            total += view.pending_V
        _close(total, all_data)


@given(streams(max_steps=60), st.data())
def test_in_literal_runs_agreed_plus_pending_is_the_model_and_server_plus_all_pending_is_all_data(
    stream: EventStream, data: st.DataObject
) -> None:
    choice = gammas(len(stream.client_ids))
    method = AsyncLinUCB(
        gamma_upload=data.draw(choice), gamma_download=data.draw(choice), welcome=data.draw(st.booleans())
    )
    federation = Federation(method, stream, 0)
    for all_data in _steps(federation):
        total = federation.server.state.V.copy()
        for number, client in federation.clients.items():
            _close(federation.server.agreed[number].V + client.pending.V, client.model.V)  # appendix B
            total += client.pending.V
        _close(total, all_data)


def _steps(federation: Federation) -> Iterator[np.ndarray]:
    """Run clients and server; after each step yield the sum of x xᵀ over all chosen arms."""
    all_data, stream = 0.0, federation.stream
    for step, pool in enumerate(stream.pools):
        federation.advance(step)
        x = stream.items[pool[federation.choices[step]]]
        all_data = all_data + np.outer(x, x)
        yield all_data


@given(streams(max_steps=40))
def test_with_am_server_plus_all_pending_is_all_data_in_both_implementations(stream: EventStream) -> None:
    algorithm = AsyncLinUCBAM(gamma=1.5)
    federation = Federation(algorithm, stream, 0)
    run = algorithm.start(stream, 0)
    compiled_data = np.zeros((stream.dimension, stream.dimension))
    for t, all_data in enumerate(_steps(federation)):
        pending = sum(client.pending.V for client in federation.clients.values())
        _close(federation.server.state.V + pending, all_data)
        run.advance(t + 1)
        x = stream.items[stream.pools[t, run.choices[t]]]
        compiled_data += np.outer(x, x)
        views = [client_view(run.protocol, client) for client in known_clients(run)]
        _close(server_view(run.protocol)[0] + sum(view.pending_V for view in views), compiled_data)


def test_at_gamma_one_every_known_client_has_all_data_and_communication_is_counted_exactly() -> None:
    stream = simulate(seed=1, steps=150, clients=15, arms=4, dimension=3)
    algorithm = AsyncLinUCB(gamma=1)
    run = algorithm.start(stream, 0)
    federation = Federation(algorithm, stream, 0)
    clients: set[int] = set()
    expected = []
    for t, all_data in enumerate(_steps(federation)):
        is_new = stream.client_numbers[t] not in clients
        clients.add(int(stream.client_numbers[t]))
        expected.append(len(clients) + (1 if is_new and t > 0 else 0))
        run.advance(t + 1)
        for client in federation.clients.values():
            _close(client.model.V, all_data)
        for number in known_clients(run):
            _close(client_view(run.protocol, number).V, all_data)
    for trace in (run.trace(), replay(literal(algorithm), stream)):
        np.testing.assert_array_equal(trace.uploads + trace.downloads, expected)


@given(
    streams(max_steps=150),
    thresholds.filter(lambda gamma: gamma > 1),
    thresholds.filter(lambda gamma: gamma > 1),
)
def test_communication_stays_below_the_bound_of_the_theorem(
    stream: EventStream, upload: float, download: float
) -> None:
    for algorithm in (
        AsyncLinUCB(gamma_upload=upload, gamma_download=download),
        AsyncLinUCBAM(gamma_upload=upload, gamma_download=download),
    ):
        for implementation in (algorithm, literal(algorithm)):
            trace = replay(implementation, stream)
            X = stream.items[stream.pools[np.arange(stream.steps), trace.choices]]
            growth = np.linalg.slogdet(np.eye(stream.dimension) + X.T @ X / algorithm.ridge)[1]
            bound = len(stream.client_ids) * growth / math.log(min(upload, download))
            assert trace.communication <= bound + 1e-6


@given(streams(max_steps=150), st.data())
def test_counts_per_step_and_per_client_add_up(stream: EventStream, data: st.DataObject) -> None:
    choice = gammas(len(stream.client_ids))
    trace = replay(AsyncLinUCB(gamma_upload=data.draw(choice), gamma_download=data.draw(choice)), stream)
    assert trace.uploads.sum() == trace.client_uploads.sum()
    assert trace.downloads.sum() == trace.client_downloads.sum()
    assert trace.uploads.max() <= 1
    assert trace.numbers_up.sum() == trace.client_numbers_up.sum()
    assert trace.numbers_down.sum() == trace.client_numbers_down.sum()
    moved = trace.numbers_up.sum() + trace.numbers_down.sum()
    assert moved == trace.communication * (stream.dimension * (stream.dimension + 1) // 2 + stream.dimension)


def test_a_new_client_does_not_receive_the_server_state_immediately() -> None:
    stream = simulate(seed=2, steps=60, clients=10, arms=4, dimension=3)
    trace = replay(AsyncLinUCB(gamma=1, alpha=0.0), stream)
    first_steps = np.array([np.flatnonzero(stream.client_numbers == c)[0] for c in range(len(stream.client_ids))])
    independent = replay(literal(AsyncLinUCB(gamma=math.inf, alpha=0.0)), stream)
    np.testing.assert_array_equal(trace.choices[first_steps], independent.choices[first_steps])  # made without data
