"""Options: `welcome` of all methods that have it, `clock`, `charge` and `patience` of Sync-LinUCB."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from algorithms import (
    AsyncLinTS,
    AsyncLinUCB,
    AsyncLinUCBAM,
    AsyncLinUCBShrunk,
    CentralisedLinUCB,
    DisLinUCB,
    FedLinUCB,
    SyncLinUCB,
)
from algorithms.method import FederatedMethod, MethodInfo
from algorithms.trace import Counts, Trace
from benchmark import EventStream
from benchmark.execution.replay import replay
from data_pipelines import simulate
from tests.algorithms.inspection import assert_same_trace
from tests.streams import confidences, streams

SEEDS = st.integers(0, 2**63 - 1)
DISTANCES = st.sampled_from([0.0, 0.01, 0.5, 3.0, 40.0, math.inf])
SILENT: list[FederatedMethod] = [
    AsyncLinUCB(gamma=math.inf),
    AsyncLinUCBAM(gamma=math.inf),
    AsyncLinUCBAM(gamma=math.inf, warm_start=True),
    SyncLinUCB(threshold=math.inf),
    SyncLinUCB(threshold=math.inf, clock="rounds", charge="all"),
    DisLinUCB(threshold=math.inf),
    FedLinUCB(gamma=math.inf),
    FedLinUCB(gamma=math.inf, own_data=True),
    AsyncLinTS(gamma=math.inf),
    AsyncLinUCBShrunk(gamma=math.inf),
]
TALKATIVE: list[FederatedMethod] = [
    AsyncLinUCB(gamma=1),
    AsyncLinUCB(gamma_upload=30, gamma_download=1.5),
    AsyncLinUCBAM(gamma=1.5),
    AsyncLinUCBAM(gamma=4, global_dim=2),
    AsyncLinUCBAM(gamma=1.5, warm_start=True),
    SyncLinUCB(threshold=2),
    SyncLinUCB(threshold=5, clock="rounds"),
    DisLinUCB(threshold=2),
    FedLinUCB(gamma=10),
    FedLinUCB(gamma=2, own_data=True),
    AsyncLinTS(gamma=2),
    AsyncLinUCBShrunk(gamma_upload=4, gamma_download=1.5),
]


@pytest.fixture(scope="module")
def stream() -> EventStream:
    """Clients join at many different steps."""
    return simulate(seed=3, steps=600, clients=150, arms=5, dimension=4)


def with_welcome(method: Any) -> Any:
    return replace(method, welcome=True)


def first_steps(stream: EventStream) -> NDArray[np.int64]:
    """Return the step at which each client joins."""
    return np.unique(stream.client_numbers, return_index=True)[1]


def alone(stream: EventStream) -> EventStream:
    """Return the stream with one client for all steps."""
    return replace(stream, clients=np.zeros_like(stream.clients), fingerprint="")


@pytest.mark.parametrize("method", SILENT, ids=str)
def test_without_communication_welcome_changes_nothing(method: FederatedMethod, stream: EventStream) -> None:
    assert_same_trace(replay(with_welcome(method), stream, 4), replay(method, stream, 4))


@given(streams(), confidences, SEEDS)
def test_async_linucb_with_welcome_makes_the_choices_of_centralised_linucb_at_gamma_one(
    stream: EventStream, confidence: dict[str, Any], seed: int
) -> None:
    trace = replay(AsyncLinUCB(gamma=1, welcome=True, **confidence), stream, seed)
    np.testing.assert_array_equal(trace.choices, replay(CentralisedLinUCB(**confidence), stream, seed).choices)


def test_the_literal_async_linucb_with_welcome_makes_the_choices_of_centralised_linucb(stream: EventStream) -> None:
    trace = replay(AsyncLinUCB(gamma=1, welcome=True).literal(), stream)
    np.testing.assert_array_equal(trace.choices, replay(CentralisedLinUCB().literal(), stream).choices)
    blind = replay(AsyncLinUCB(gamma=1).literal(), stream)
    assert (trace.choices != blind.choices).any()


def literally(method: FederatedMethod) -> Any:
    return method.literal()


def compiled(method: FederatedMethod) -> Any:
    return method


@pytest.mark.parametrize("form", [compiled, literally])
@pytest.mark.parametrize("method", TALKATIVE, ids=str)
def test_there_are_as_many_welcomes_as_clients_that_join_while_the_server_holds_data(
    method: FederatedMethod, form: Callable[[FederatedMethod], Any], stream: EventStream
) -> None:
    trace, first = replay(form(with_welcome(method)), stream), first_steps(stream)
    with_data_from = np.flatnonzero(trace.uploads)[0] + 1
    np.testing.assert_array_equal(trace.needed_down[first], first >= with_data_from)
    assert (first >= with_data_from).sum() > 10
    assert (trace.downloads[first] >= trace.needed_down[first]).all()
    assert not replay(form(method), stream).needed_down[first].any()


@pytest.mark.parametrize("warm_start", [False, True])
def test_with_the_warm_start_the_first_choice_of_a_client_stays_blind(warm_start: bool, stream: EventStream) -> None:
    """Without data, the arm with the longest features has the largest bound."""
    method = AsyncLinUCBAM(gamma=1, warm_start=warm_start, welcome=True)
    trace, first = replay(method, stream), first_steps(stream)
    lengths = np.linalg.norm(stream.items[stream.pools[first]], axis=2)
    is_longest = lengths.argmax(axis=1) == trace.choices[first]
    assert is_longest.all() == warm_start


@pytest.mark.parametrize("method", [AsyncLinUCB(gamma=1), AsyncLinUCBAM(gamma=1)], ids=str)
def test_at_gamma_one_there_are_as_many_transfers_with_and_without_welcome(
    method: FederatedMethod, stream: EventStream
) -> None:
    welcomed, blind = replay(with_welcome(method), stream), replay(method, stream)
    assert (welcomed.uploads == 1).all()
    assert welcomed.communication == blind.communication
    np.testing.assert_array_equal(welcomed.client_downloads, blind.client_downloads)


@pytest.mark.parametrize(
    "method", [AsyncLinUCB, AsyncLinUCBAM, SyncLinUCB, DisLinUCB, FedLinUCB, AsyncLinTS, AsyncLinUCBShrunk]
)
def test_welcome_is_a_contender_of_its_own_and_must_be_true_or_false(method: Any) -> None:
    assert method.variants == {"with welcome (ours)": {"welcome": True}}
    assert MethodInfo.of(method).variant_label("with welcome (ours)").count("(ours)") == 1
    with pytest.raises(ValueError, match=r"^welcome must be True or False, got 1$"):
        method(**{method.front.parameter: 2, "welcome": 1})


@given(streams(), confidences, DISTANCES, SEEDS)
def test_with_one_client_both_clocks_agree(
    stream: EventStream, confidence: dict[str, Any], threshold: float, seed: int
) -> None:
    own, rounds = (
        replay(SyncLinUCB(threshold=threshold, clock=clock, **confidence), alone(stream), seed)
        for clock in ("own", "rounds")
    )
    assert_same_trace(own, rounds)


def test_with_several_clients_the_clocks_differ_and_an_idle_time_counts_in_rounds_only() -> None:
    """Two clients; the first acts once, then the second seven times with zeros, then the first again."""
    items = np.array([[1.0], [0.0]])
    clients, pools = np.array([0, *[1] * 7, 0]), np.array([0, *[1] * 7, 0])[:, None]
    stream = EventStream(items=items, clients=clients, pools=pools, rewards=np.zeros((9, 1)), noise=np.zeros(9))
    log_ratio = math.log((0.2 + 2) / 0.2)  # of the first client at the last step, nothing being synchronised
    for clock, waited in (("own", 2), ("rounds", 9 / 2)):
        for factor, is_due in ((0.999, True), (1.001, False)):
            method: Any = SyncLinUCB(threshold=factor * waited * log_ratio, clock=clock)
            for form in (method, method.literal()):
                assert replay(form, stream).uploads.tolist() == [*[0] * 8, 2 * is_due]


@pytest.mark.parametrize("form", [compiled, literally])
def test_patience_has_no_effect_without_a_network(form: Callable[[FederatedMethod], Any], stream: EventStream) -> None:
    patient, impatient = (replay(form(SyncLinUCB(threshold=2, patience=each)), stream) for each in (math.inf, 0))
    assert_same_trace(impatient, patient)


@given(streams(max_steps=200), DISTANCES, st.sampled_from(["own", "rounds"]), st.booleans(), SEEDS)
def test_all_clients_of_the_stream_are_charged_but_needed_transfers_stay_the_same(
    stream: EventStream, threshold: float, clock: Any, welcome: bool, seed: int
) -> None:
    known, charged = (
        replay(SyncLinUCB(threshold=threshold, clock=clock, charge=charge, welcome=welcome), stream, seed)
        for charge in ("known", "all")
    )
    np.testing.assert_array_equal(charged.choices, known.choices)
    for name in Counts._fields:
        if name.startswith("needed"):
            np.testing.assert_array_equal(getattr(charged, name), getattr(known, name))
            np.testing.assert_array_equal(getattr(charged, f"client_{name}"), getattr(known, f"client_{name}"))
    clients, synchronised = len(stream.client_ids), known.uploads > 0
    np.testing.assert_array_equal(charged.uploads, clients * synchronised)
    assert (charged.client_uploads == synchronised.sum()).all()
    assert_charged_downloads(charged, known, stream)
    size = stream.dimension * (stream.dimension + 3) // 2
    for transfers, numbers in (("uploads", "numbers_up"), ("downloads", "numbers_down")):
        np.testing.assert_array_equal(getattr(charged, numbers), size * getattr(charged, transfers))
        np.testing.assert_array_equal(
            getattr(charged, f"client_{numbers}"), size * getattr(charged, f"client_{transfers}")
        )


def assert_charged_downloads(charged: Trace, known: Trace, stream: EventStream) -> None:
    """Downloads are as many as uploads, and the welcomes: those of known clients that they did not upload for."""
    np.testing.assert_array_equal(charged.downloads - charged.uploads, known.downloads - known.uploads)
    welcomes = known.client_downloads - known.client_uploads
    np.testing.assert_array_equal(charged.client_downloads - charged.client_uploads, welcomes)
    np.testing.assert_array_equal(welcomes, known.needed_down[first_steps(stream)])
