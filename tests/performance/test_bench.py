"""The measurements of `make bench`: every method is measured, and exceeded limits are reported."""

import re

import numpy as np
import pytest

from algorithms import FCLUB, AsyncLinUCB, PrivateFedLinUCB
from algorithms.method import Method
from algorithms.registry import built_in_methods
from benchmark.execution.compilation import kernel_of
from data_pipelines import simulate
from tests.performance import bench, speed
from tests.performance.first_compilation import compile_all, is_of_paper
from tests.performance.floor import floor
from tests.performance.scale import million_client_stream, run_at_scale

pytestmark = pytest.mark.slow


def test_the_kernels_of_all_methods_are_compiled_those_of_the_paper_first() -> None:
    kernels = [*compile_all()]
    assert kernels[:4] == ["async-linucb", "async-linucb-am", "async-linucb-am-warm_start", "sync-linucb"]
    assert [is_of_paper(kernel) for kernel in kernels] == [True] * 4 + [False] * (len(kernels) - 4)
    assert {*kernels} == {
        kernel_of(example) for info in built_in_methods().values() for example in info.method.examples()
    }


@pytest.mark.parametrize("method", [FCLUB(gamma=2), PrivateFedLinUCB(period=50, epsilon=4)])
def test_phases_are_measured_apart_from_the_steps(method: Method) -> None:
    stream = simulate(seed=0, steps=500, clients=10, arms=5, dimension=4)
    steps, phases = speed.seconds_of(method, stream)
    assert steps > 0
    assert phases > 0
    assert speed.seconds_of(AsyncLinUCB(gamma=2), stream)[1] == 0


def test_every_method_that_is_ranked_has_a_limit_for_its_steps() -> None:
    limits = [method.limits().floor_multiple for method in speed.methods() if method.role == "contender"]
    assert all(limit is not None and limit <= 3 for limit in limits)
    assert all((method.limits().growth or 0) <= 1.5 for method in speed.methods())


def test_the_floor_learns() -> None:
    stream = simulate(seed=0, steps=2_000, clients=1, arms=5, dimension=4)
    reward = floor(stream.items, stream.pools, stream.rewards, stream.noise, 0.1, 0.3)
    assert reward > 0.8 * stream.rewards.max(axis=1).sum()


def test_bench_measures_every_method_and_reports_exceeded_limits(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny = simulate(seed=0, steps=300, clients=10, table=50)
    monkeypatch.setattr(bench, "measure_compilation", lambda: {"async-linucb": 2.0, "a slow method": 11.0})
    monkeypatch.setattr(speed, "use_one_core", lambda: None)
    monkeypatch.setattr(speed, "lastfm_shaped", lambda: tiny)
    monkeypatch.setattr(speed, "measure_growth", lambda repeats: iter([speed.GrowthRow("a method", 1.0, 2.0, 1.3)]))
    monkeypatch.setattr(speed, "REPEATS", 1)
    monkeypatch.setattr(speed, "PREFIX", 20)
    assert bench.main(["--repeats", "1"]) == 1  # the growth row exceeds its limit
    table = capsys.readouterr().out
    measured = [method for method in speed.methods() if method.limits().floor_multiple is not None]
    assert len(measured) > 20
    for method in measured:
        assert speed.label(method) in table
    assert len({method.order for method in measured if hasattr(method, "order")}) == 2
    assert len(re.findall(r"^\S+ (?:global|local), median +[\d.]+ +2\.1", table, re.MULTILINE)) == 2
    assert "2.00      1.3  MISSED" in table
    assert "of this machine's dgemm" in table
    assert re.search(r"literal async-linucb γ=2 on this stream: [\d.]+ s of CPU time; at most 60 s\n", table)
    assert re.search(r"^fclub γ=1 +[\d.]+ +[\d.]+ +3\.0 +[\d.]+", table, re.MULTILINE)


def test_the_median_of_each_form_of_a_method_has_its_own_limit() -> None:
    rows = [
        speed.SpeedRow(f"{form} γ={number}", form, multiple, 1.0, 2.3, limit, None, None)
        for form, limit in (("a", 2.1), ("b", 2.1), ("c", None))
        for number, multiple in enumerate((1.0, 2.0 if form == "a" else 2.2, 2.25))
    ]
    assert [*speed.medians(rows)] == [("a", 2.0, 2.1), ("b", 2.2, 2.1)]


def test_every_client_of_the_scale_stream_acts_and_the_run_reports_its_memory() -> None:
    stream = million_client_stream(500, 1_200)
    assert len(stream.client_ids) == 500
    row = run_at_scale(AsyncLinUCB(gamma=5.0), 500, 1_200, 6.0)
    assert row.label == "async-linucb γ=5"
    assert row.communication > 0
    assert 0 < row.peak_gib < 24
    assert np.isfinite(row.microseconds)
