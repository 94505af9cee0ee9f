"""The literal and the compiled implementations make the same choices and the same transfers."""

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms import (
    AsyncLinTS,
    AsyncLinUCB,
    AsyncLinUCBAM,
    AsyncLinUCBAsPublished,
    AsyncLinUCBShrunk,
    AsyncLinUCBThenAlone,
    FedLinUCB,
    MeanLinUCB,
)
from algorithms.literal import literal
from algorithms.literal.async_linucb_am import AsyncLinUCBAMClient, AsyncLinUCBAMServer
from algorithms.messages import Problem, numbers_in_statistics
from algorithms.method import MethodInfo
from algorithms.methods.async_linucb_am import Order, Width
from algorithms.methods.async_linucb_then_alone import Keep
from algorithms.methods.fed_igw import Rule
from algorithms.methods.sync_linucb import Charge, Clock
from algorithms.registry import built_in_methods
from benchmark import EventStream
from benchmark.execution.replay import replay
from data_pipelines import simulate
from tests.algorithms.extremes import CentralisedLinUCB, IndependentLinUCB
from tests.algorithms.inspection import assert_same_statistics, assert_same_trace, replay_literally, server_view
from tests.streams import confidences, gammas, streams, thresholds

SEEDS = st.integers(0, 2**63 - 1)


def assert_same_run(algorithm: AsyncLinUCB, stream: EventStream, seed: int) -> None:
    """Compare the traces of both implementations, and the statistics of server and clients at the end."""
    oracle = replay_literally(algorithm, stream, seed)
    run = algorithm.start(stream, seed)
    run.advance()
    assert_same_trace(run.trace(), oracle.trace())
    assert_same_statistics(run, oracle)


@given(streams(), confidences, st.data(), SEEDS)
def test_async_linucb_agrees_with_the_paper_line_by_line(
    stream: EventStream, confidence: dict, data: st.DataObject, seed: int
) -> None:
    thresholds = gammas(len(stream.client_ids))
    pair = {"gamma_upload": data.draw(thresholds), "gamma_download": data.draw(thresholds)}
    algorithm = AsyncLinUCB(**pair, welcome=data.draw(st.booleans()), **confidence)
    assert_same_run(algorithm, stream, seed)


@given(streams(max_steps=120), thresholds, st.booleans(), st.booleans(), SEEDS)
def test_the_published_script_agrees_with_and_without_its_peculiarities(
    stream: EventStream, gamma: float, stale: bool, first: bool, seed: int
) -> None:
    algorithm = AsyncLinUCBAsPublished(gamma=gamma, stale_models=stale, first_maximum=first)
    trace = replay(algorithm, stream, seed)
    assert_same_trace(trace, replay(literal(algorithm), stream, seed))
    if not stale and not first:
        assert_same_trace(trace, replay(AsyncLinUCB(gamma=gamma), stream, seed))


def test_stale_models_make_other_choices_and_the_first_maximum_is_the_first_of_equal_arms() -> None:
    stream = simulate(steps=2_000, clients=30, arms=8, dimension=6, seed=1)
    stale = AsyncLinUCBAsPublished(gamma=1.5, stale_models=True)
    assert (replay(AsyncLinUCB(gamma=1.5), stream, 1).choices != replay(stale, stream, 1).choices).any()
    first_five_times = {name: np.repeat(getattr(stream, name)[:, :1], 5, axis=1) for name in ("pools", "rewards")}
    equal_arms = replace(stream, **first_five_times)
    assert not replay(AsyncLinUCBAsPublished(gamma=3.0, first_maximum=True), equal_arms).choices.any()
    assert len(np.unique(replay(AsyncLinUCBAsPublished(gamma=3.0), equal_arms).choices)) == 5


class RecordingAMClient(AsyncLinUCBAMClient):
    """Records the largest movement of a partial reward at the end of an alternation."""

    largest_movement = 0.0

    def repeat(self, iterate: Callable[[], float]) -> None:
        super().repeat(iterate)
        self.largest_movement = max(self.largest_movement, self.movement)


class RecordingAM(AsyncLinUCBAM, abstract=True):
    """Async-LinUCB-AM with such clients."""

    def client(self, number: int, problem: Problem) -> RecordingAMClient:
        return RecordingAMClient(self, number, problem)

    def server(self, problem: Problem) -> AsyncLinUCBAMServer:
        return AsyncLinUCBAMServer(self, problem)


@given(streams(max_steps=250), confidences, st.data(), st.booleans(), SEEDS)
def test_async_linucb_am_agrees_up_to_the_first_unsettled_step(
    stream: EventStream, confidence: dict, data: st.DataObject, warm_start: bool, seed: int
) -> None:
    thresholds = gammas(len(stream.client_ids))
    parameters = {
        "gamma_upload": data.draw(thresholds),
        "gamma_download": data.draw(thresholds),
        "global_dim": data.draw(st.one_of(st.none(), st.integers(1, stream.dimension))),
        "warm_start": warm_start,
        "order": data.draw(st.sampled_from(get_args(Order))),
        "width": data.draw(st.sampled_from(get_args(Width))),
        "welcome": data.draw(st.booleans()),
        **confidence,
    }
    oracle = replay_literally(RecordingAM(**parameters), stream, seed)
    run = AsyncLinUCBAM(**parameters).start(stream, seed)
    run.advance()
    actual = run.trace()
    if assert_same_trace(actual, oracle.trace()):
        # an alternation that did not converge magnifies rounding errors in b, a sum of partial rewards
        movement = max(client.largest_movement for client in oracle.clients.values())
        assert_same_statistics(run, oracle, 1e-8 if movement <= 1e-10 else 1e-4)
    size = numbers_in_statistics(parameters["global_dim"] or stream.dimension)
    np.testing.assert_array_equal(actual.numbers_up, size * actual.uploads)


VALUES: dict[str, st.SearchStrategy[Any]] = {
    "gamma": thresholds,
    "gamma_upload": thresholds,
    "gamma_download": thresholds,
    "threshold": st.sampled_from([0.0, 0.01, 0.5, 3.0, 40.0, np.inf]),
    "longest": st.sampled_from([1, 2, 3, 7, 16, 100, np.inf]),
    "period": st.sampled_from([1, 2, 3, 10, 50, 1000, np.inf]),
    "share_for": st.sampled_from([0, 1, 2, 5, 8, 9, 20, 60, np.inf]),
    "alpha": st.sampled_from([0.0, 0.3, 2.0]),
    "v": st.sampled_from([0.0, 0.3, 2.0, "theory"]),
    "ridge": st.sampled_from([0.05, 0.2, 1.0, 80.0]),
    "sigma": st.sampled_from([0.1, 1.0]),
    "delta": st.sampled_from([0.01, 0.1]),
    "pull": st.sampled_from([0.05, 0.2, 1.0, 80.0]),
    "distance": st.sampled_from([0.0, 0.05, 0.3, 1.0, 3.0, np.inf]),
    "sharpness": st.sampled_from([0.0, 1.0, 100.0, 1e5]),
    "epsilon": st.sampled_from([0.01, 1.0, 16.0, 1e4, np.inf]),
    "rule": st.sampled_from(get_args(Rule)),
    "keep": st.sampled_from(get_args(Keep)),
    "clock": st.sampled_from(get_args(Clock)),
    "charge": st.sampled_from(get_args(Charge)),
    "own_data": st.booleans(),
    "welcome": st.booleans(),
}
"""Values of parameters, by name; those of other parameters stay as they are."""

WITH_OWN_TESTS = (AsyncLinUCB, AsyncLinUCBAM)
"""Their statistics are compared, too."""

CONTENDERS = [info for info in built_in_methods().values() if info.role == "contender"]
OTHERS = [info for info in CONTENDERS if info.method not in WITH_OWN_TESTS]


@pytest.mark.parametrize("info", OTHERS, ids=lambda info: info.name)
@given(streams(max_steps=250), st.data(), SEEDS)
def test_both_implementations_of_any_other_method_agree(
    info: MethodInfo, stream: EventStream, data: st.DataObject, seed: int
) -> None:
    drawn = {name: VALUES[name] for name in info.parameters if name in VALUES}
    if "gamma_upload" in drawn:
        del drawn["gamma"]
    if info.method in (AsyncLinTS, AsyncLinUCBShrunk):  # a threshold for each client, too
        drawn |= dict.fromkeys(("gamma_upload", "gamma_download"), gammas(len(stream.client_ids)))
    values = {name: data.draw(strategy) for name, strategy in drawn.items()}
    if "sigma" in drawn and "alpha" in drawn and data.draw(st.booleans()):
        values["alpha"] = "theory"
    method = info.method(**values)
    assert_same_trace(replay(method, stream, seed), replay(literal(method), stream, seed))


PAIRS: list[tuple[Any, Any]] = [
    *((1.3, np.inf), (1.05, 40.0), (20.0, 1.2)),
    ((1.1, 5.0, np.inf, 1.0), (2.0, 1.0, 9.0, np.inf)),
]
LONGER: list[tuple[int, Any]] = [
    *((4, AsyncLinTS(gamma_upload=up, gamma_download=down, v="theory", sigma=1.0)) for up, down in PAIRS),
    *((4, AsyncLinUCBShrunk(gamma_upload=up, gamma_download=down)) for up, down in PAIRS),
    *(
        (6, AsyncLinUCBThenAlone(share_for=steps, gamma=gamma, keep=keep))
        for steps, gamma, keep in product((3, 9, 30, 100), (1.0, 1.3, 20.0), get_args(Keep))
    ),
    *(
        (40, FedLinUCB(gamma=gamma, own_data=own_data, welcome=welcome))
        for gamma, own_data, welcome in product((1.0, 1.2, 3.0, 40.0, 1e4), (False, True), (False, True))
    ),
    *((clients, MeanLinUCB(gamma=gamma, pull=0.2)) for clients in (1, 2, 7, 64) for gamma in (1.0, 1.2, 3.0, 40.0)),
]
"""Numbers of clients, and methods: clients keep rows, sums, shared versions or private states."""


@pytest.mark.parametrize(("clients", "method"), LONGER, ids=str)
def test_both_implementations_agree_on_a_longer_stream(clients: int, method: Any) -> None:
    stream = simulate(seed=5, steps=1200, clients=clients, arms=5, dimension=6)
    assert_same_trace(replay(method, stream, 2), replay(literal(method), stream, 2))


@pytest.mark.parametrize(("upload", "download"), PAIRS)
def test_async_linucb_has_the_same_statistics_on_a_longer_stream(upload: Any, download: Any) -> None:
    stream = simulate(seed=5, steps=1500, clients=4, arms=5, dimension=6)
    assert_same_run(AsyncLinUCB(gamma_upload=upload, gamma_download=download), stream, 0)


@pytest.mark.parametrize("method", [AsyncLinTS, AsyncLinUCBShrunk])
@given(streams(max_steps=150), thresholds, SEEDS)
def test_the_exchange_is_that_of_async_linucb_where_all_arms_are_the_same(
    method: Any, stream: EventStream, gamma: float, seed: int
) -> None:
    same_arms = {name: np.repeat(getattr(stream, name)[:, :1], 3, axis=1) for name in ("pools", "rewards")}
    same_arm = replace(stream, **same_arms, fingerprint="")
    assert_same_trace(replay(method(gamma=gamma), same_arm, seed), replay(AsyncLinUCB(gamma=gamma), same_arm, seed))


def test_gamma_one_is_one_shared_model_and_gamma_infinity_one_model_per_client() -> None:
    stream = simulate(seed=3, steps=500, clients=12, arms=5, dimension=4)
    for gamma, learner in ((1.0, CentralisedLinUCB), (np.inf, IndependentLinUCB)):
        algorithm = AsyncLinUCB(gamma=gamma, alpha=0.5)
        assert_same_trace(replay(algorithm, stream, 1), replay(learner(algorithm), stream, 1))


@pytest.mark.parametrize("warm_start", [False, True])
@pytest.mark.parametrize("global_dim", [None, 16])
@pytest.mark.parametrize("order", get_args(Order))
def test_async_linucb_am_agrees_in_the_papers_dimension(order: Order, warm_start: bool, global_dim: int | None) -> None:
    stream = simulate(seed=8, steps=700, clients=12, arms=10, dimension=25, global_dim=16)
    for gamma in (1.05, 5.0, np.inf):
        algorithm = AsyncLinUCBAM(gamma=gamma, global_dim=global_dim, warm_start=warm_start, order=order)
        assert_same_trace(replay(algorithm, stream), replay(literal(algorithm), stream))


@pytest.mark.parametrize("global_dim", [None, 16])
def test_with_the_warm_start_both_orders_of_the_alternation_make_the_same_choices_and_transfers(
    global_dim: int | None,
) -> None:
    stream = simulate(seed=4, steps=3000, clients=20, dimension=25, global_dim=16)
    for gamma in (1.05, 5.0, np.inf):
        global_first, local_first = (
            replay(AsyncLinUCBAM(gamma=gamma, global_dim=global_dim, warm_start=True, order=order), stream)
            for order in get_args(Order)
        )
        assert_same_trace(global_first, local_first)
    assert global_first.rewards.sum() > 0


@pytest.mark.parametrize(("order", "carries_data"), [("global", True), ("local", False)])
def test_the_first_upload_of_a_client_carries_partial_rewards_by_default_and_none_with_the_local_step_first(
    order: Order, carries_data: bool
) -> None:
    assert AsyncLinUCBAM(gamma=5).order == "global"
    stream = simulate(seed=0, steps=1, clients=1, dimension=25, global_dim=12)
    algorithm = AsyncLinUCBAM(gamma=1.01, global_dim=12, alpha="theory", ridge=0.1, order=order)
    oracle = replay_literally(algorithm, stream, 0)
    trace = oracle.trace()
    run = algorithm.start(stream, 0)
    run.advance()
    assert trace.uploads.sum() == run.trace().uploads.sum() == 1
    assert abs(trace.rewards[0]) > 0.01
    for b in (oracle.server.state.b, server_view(run.protocol)[1]):
        assert (np.abs(b).max() > 1e-3) == carries_data


def test_unsettled_steps_are_counted_and_rare_in_the_papers_simulation() -> None:
    stream = simulate(seed=0, steps=20_000, clients=200, global_dim=16)
    trace = replay(AsyncLinUCBAM(gamma=5, global_dim=16, alpha="theory", ridge=0.1), stream)
    assert trace.am_unsettled == trace.unsettled.sum() <= 0.001 * stream.steps
