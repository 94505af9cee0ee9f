"""FCLUB: both implementations agree, its identities hold, and its phases cluster and rebuild as defined."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.csgraph import connected_components

from algorithms import FCLUB, AsyncLinUCB, CentralisedLinUCB
from algorithms.kernels import fclub
from algorithms.kernels.fclub import FCLUBRun, components, first_members
from algorithms.literal.fclub import FCLUBClient, FCLUBServer
from benchmark import EventStream
from benchmark.execution.federation import Federation
from benchmark.execution.replay import replay
from data_pipelines import simulate
from tests.algorithms.inspection import assert_same_trace
from tests.streams import streams, thresholds

PHASES = [2, 6, 14, 30, 62, 126, 254]
"""The steps before which phases take place, from 0; before step 0 no client is known."""

parameters = st.fixed_dictionaries(
    {
        "gamma_upload": thresholds,
        "gamma_download": thresholds,
        "distance": st.sampled_from([0.0, 0.05, 0.3, 1.0, 3.0, math.inf]),
        "alpha": st.sampled_from([0.0, 0.3, 2.0]),
        "ridge": st.sampled_from([0.05, 0.2, 1.0]),
    }
)


@pytest.fixture(scope="module")
def stream() -> EventStream:
    return simulate(seed=3, steps=400, clients=12, arms=5, dimension=4)


def finished(method: FCLUB, stream: EventStream) -> FCLUBRun:
    run = method.start(stream, 0)
    assert isinstance(run, FCLUBRun)
    run.advance()
    return run


def known_before(stream: EventStream, step: int) -> int:
    return len(np.unique(stream.client_numbers[:step]))


def parts(federation: Federation) -> tuple[FCLUBServer, dict[int, FCLUBClient]]:
    """Return the literal server and its clients."""
    server, clients = federation.server, federation.clients
    assert isinstance(server, FCLUBServer)
    return server, {number: client for number, client in clients.items() if isinstance(client, FCLUBClient)}


@given(stream=streams(max_steps=150), values=parameters)
def test_both_count_the_same_clusters_at_every_step(stream: EventStream, values: dict[str, float]) -> None:
    run, federation = finished(FCLUB(**values), stream), Federation(FCLUB(**values), stream, 0)
    for step in range(stream.steps):
        federation.advance(step)
        server, _ = parts(federation)
        assert run.clusters_by_step[step] == len({*server.cluster.values()}) == len(server.state)
    assert [step for step, _ in run.clusters] == [step for step in PHASES if step < stream.steps]
    for step, count in run.clusters:
        is_new = known_before(stream, step + 1) - known_before(stream, step)
        assert run.clusters_by_step[step] == count + is_new


@given(stream=streams(), ridge=st.sampled_from([0.05, 1.0]), distance=st.sampled_from([0.0, 0.1, math.inf]))
def test_one_client_at_gamma_1_makes_the_choices_of_linucb(stream: EventStream, ridge: float, distance: float) -> None:
    stream = replace(stream, clients=np.zeros_like(stream.clients), fingerprint="")
    actual = replay(FCLUB(gamma=1, ridge=ridge, distance=distance), stream)
    np.testing.assert_array_equal(actual.choices, replay(CentralisedLinUCB(ridge=ridge), stream).choices)


@given(stream=streams())
def test_distance_0_at_gamma_1_is_independent_learning(stream: EventStream) -> None:
    run = finished(FCLUB(gamma=1, distance=0), stream)
    trace = run.trace()
    np.testing.assert_array_equal(trace.choices, replay(AsyncLinUCB(gamma=math.inf), stream, 0).choices)
    assert trace.downloads.sum() == 0
    assert all(count == known_before(stream, step) for step, count in run.clusters)


def test_distance_inf_joins_all_clients(stream: EventStream) -> None:
    run = finished(FCLUB(gamma=2, distance=math.inf), stream)
    assert run.clusters == [(step, 1) for step in PHASES]


@pytest.mark.parametrize("distance", [0.05, 0.5, math.inf])
def test_at_gamma_inf_only_phases_send(stream: EventStream, distance: float) -> None:
    trace = replay(FCLUB(gamma=math.inf, distance=distance), stream)
    known = [known_before(stream, step) for step in PHASES]
    np.testing.assert_array_equal(np.flatnonzero(trace.uploads), PHASES)
    np.testing.assert_array_equal(trace.uploads[PHASES], known)
    np.testing.assert_array_equal(trace.needed_up, trace.uploads)
    assert {*trace.downloads.tolist()} <= {0, *known}
    assert (trace.downloads <= trace.uploads).all()


def test_phases_count_even_if_nothing_changes_and_then_buffers_stay() -> None:
    stream = simulate(seed=0, steps=40, clients=1, arms=5, dimension=4)
    method = FCLUB(gamma=math.inf, distance=math.inf)
    trace = replay(method, stream)
    np.testing.assert_array_equal(np.flatnonzero(trace.uploads), [2, 6, 14, 30])
    assert trace.downloads.sum() == 0
    federation = Federation(method, stream, 0)
    for step in range(stream.steps):
        federation.advance(step)
    _, clients = parts(federation)
    assert clients[0].buffer.count == clients[0].own.count == 40
    assert not clients[0].model.V.any()


def test_a_rebuild_sends_every_client_the_sum_of_its_clusters_own_data_and_empties_its_buffer(
    stream: EventStream,
) -> None:
    federation = Federation(FCLUB(gamma=math.inf, distance=0.3), stream, 0)
    server, _ = parts(federation)
    for step in range(stream.steps):
        known = parts(federation)[1]
        own = {number: (client.own.V.copy(), client.own.b.copy()) for number, client in known.items()}
        rebuilds = server.rebuilds
        federation.advance(step)
        if server.rebuilds > rebuilds:
            for number, client in known.items():
                members = [other for other in known if server.cluster[other] == server.cluster[number]]
                np.testing.assert_allclose(client.model.V, sum(own[other][0] for other in members))
                np.testing.assert_allclose(client.model.b, sum(own[other][1] for other in members))
                assert client.buffer.count == int(number == stream.client_numbers[step])
                assert client.rebuilds == server.rebuilds
    assert server.rebuilds >= 3


def test_the_server_has_a_copy_of_every_clients_state(stream: EventStream) -> None:
    federation = Federation(FCLUB(gamma=1.5, distance=0.3), stream, 0)
    for step in range(stream.steps):
        federation.advance(step)
        server, clients = parts(federation)
        for number, client in clients.items():
            np.testing.assert_allclose(server.copy[number].V, client.model.V, atol=1e-9)
            np.testing.assert_allclose(server.copy[number].b, client.model.b, atol=1e-9)


def test_a_new_client_is_a_cluster_of_its_own_until_the_next_phase() -> None:
    stream = simulate(seed=0, steps=20, clients=2, arms=5, dimension=4)
    stream = replace(stream, clients=np.array([0] * 8 + [1] * 12), fingerprint="")
    run = finished(FCLUB(gamma=1, distance=math.inf), stream)
    np.testing.assert_array_equal(run.clusters_by_step, [1] * 8 + [2] * 6 + [1] * 6)
    downloads = run.trace().downloads
    assert not downloads[:14].any()
    assert downloads[14] == 2 + 1  # the rebuild, and the idle client after the upload of the acting one
    assert (downloads[15:] == 1).all()


def test_items_without_features_never_trigger_an_upload() -> None:
    stream = simulate(seed=0, steps=60, clients=3, arms=5, dimension=4)
    stream = replace(stream, items=np.zeros_like(stream.items), fingerprint="")
    trace = replay(FCLUB(gamma=1), stream)
    assert_same_trace(trace, replay(FCLUB(gamma=1).literal(), stream))
    np.testing.assert_array_equal(np.flatnonzero(trace.uploads), [2, 6, 14, 30])
    np.testing.assert_array_equal(trace.needed_up, trace.uploads)  # zeros with a count are data


def test_a_run_in_pieces_holds_each_phase_once(stream: EventStream) -> None:
    method = FCLUB(gamma=1.3, distance=0.3)
    at_once, in_pieces = finished(method, stream), method.start(stream, 0)
    for stop in (1, 2, 3, 5, 6, 7, 14, 62, 64, None):
        in_pieces.advance(stop)
        assert len(in_pieces.clusters_by_step) == (stream.steps if stop is None else stop)  # type: ignore[attr-defined]
    assert_same_trace(in_pieces.trace(), at_once.trace())
    assert in_pieces.clusters == at_once.clusters  # type: ignore[attr-defined]


def test_two_estimates_are_neighbours_below_the_limit_but_not_at_it() -> None:
    counts = np.array([0, 3])
    limit = 0.1 * (1 + math.sqrt((1 + math.log(4)) / 4))
    for apart, expected in ((limit * (1 - 1e-8), 1), (limit, 2), (limit * (1 - 1e-10), 2)):
        labels = components(np.array([[0.0, 0.0], [0.0, apart]]), counts, 0.1)
        assert len({*labels.tolist()}) == expected


@given(
    seed=st.integers(0, 999),
    clients=st.integers(1, 60),
    distance=st.sampled_from([0.0, 0.1, 0.3, 0.6, math.inf]),
    at_once=st.sampled_from([1, 50, 200, 10_000]),
)
def test_components_do_not_depend_on_blocks(seed: int, clients: int, distance: float, at_once: int) -> None:
    rng = np.random.default_rng(seed)
    estimates, counts = rng.standard_normal((clients, 2)), rng.integers(30, size=clients)
    f = np.sqrt((1 + np.log(1 + counts)) / (1 + counts))
    edges = np.linalg.norm(estimates[:, None] - estimates, axis=2) < distance * (f[:, None] + f)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fclub, "PAIRS_AT_ONCE", at_once)
        labels = components(estimates, counts, distance)
    expected_count, expected = connected_components(edges, directed=False)
    assert {*labels.tolist()} == {*range(expected_count)}
    np.testing.assert_array_equal(first_members(labels), first_members(expected))


def test_there_is_no_welcome() -> None:
    with pytest.raises(TypeError, match="welcome"):
        FCLUB(gamma=2, welcome=True)  # type: ignore[call-arg]


def test_values_are_normalised() -> None:
    assert FCLUB(gamma=2) == FCLUB(gamma_upload=2.0, gamma_download=2.0)
    assert FCLUB(gamma_upload=2, gamma_download=3).gamma is None
    assert isinstance(FCLUB(gamma=2, distance=1).distance, float)
