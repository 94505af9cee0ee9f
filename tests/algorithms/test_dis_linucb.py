"""DisLinUCB is Sync-LinUCB with the clock of the rounds, in both implementations."""

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms import DisLinUCB, SyncLinUCB
from benchmark import EventStream
from benchmark.execution.replay import replay
from tests.algorithms.inspection import assert_same_trace
from tests.streams import confidences, streams


@given(
    streams(),
    confidences,
    st.sampled_from([0.0, 0.01, 0.5, 3.0, 40.0, np.inf]),
    st.booleans(),
    st.integers(0, 2**63 - 1),
)
def test_it_is_sync_linucb_with_the_clock_of_the_rounds(
    stream: EventStream, confidence: dict[str, Any], threshold: float, welcome: bool, seed: int
) -> None:
    values = {"threshold": threshold, "welcome": welcome, **confidence}
    trace = replay(DisLinUCB(**values), stream, seed)
    assert_same_trace(trace, replay(SyncLinUCB(clock="rounds", **values), stream, seed))
    assert_same_trace(trace, replay(DisLinUCB(**values).literal(), stream, seed))


@pytest.mark.parametrize("option", ["clock", "charge", "patience"])
def test_the_options_of_sync_linucb_are_not_its_own(option: str) -> None:
    with pytest.raises(TypeError, match=option):
        DisLinUCB(**{"threshold": 2, option: "own"})


CASES: list[tuple[dict[str, Any], str]] = [
    ({"threshold": -1}, "threshold must be a number from 0 to inf, got -1"),
    ({"alpha": "lots"}, "alpha must be a finite number from 0, or \"theory\", got 'lots'"),
    ({"ridge": 0}, "ridge must be a number above 0 (from 1e-50 to 1e+50), got 0"),
    ({"sigma": -0.1}, "sigma must be a finite number from 0, got -0.1"),
    ({"delta": 1.0}, "delta must be a number above 0 and below 1, got 1.0"),
]


@pytest.mark.parametrize(("values", "message"), CASES)
def test_the_error_for_an_invalid_value_is_one_line(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        DisLinUCB(**{"threshold": 2, **values})
