"""Invalid input raises a ValueError that names the parameter, the value and what is expected, before any work."""

import math
import re
from typing import Any

import numpy as np
import pytest

from algorithms import AsyncLinUCB, AsyncLinUCBAM, AsyncLinUCBAsPublished, RandomChoice, SyncLinUCB
from benchmark import EventStream
from benchmark.execution.replay import replay
from data_pipelines import simulate

THRESHOLD = "from 1 to inf"
BOTH = "either gamma, or both gamma_upload and gamma_download"
CASES: list[tuple[type, dict[str, Any], str, str, str]] = [
    (AsyncLinUCB, {"gamma": 0.5}, "gamma", "0.5", THRESHOLD),
    (AsyncLinUCB, {"gamma": ()}, "gamma", "empty", "one number per client"),
    (AsyncLinUCB, {"gamma": (2.0, 0.1)}, "gamma", "0.1", THRESHOLD),
    (AsyncLinUCB, {}, "gamma_upload", "missing", BOTH),
    (AsyncLinUCB, {"gamma_upload": 2}, "gamma_download", "missing", BOTH),
    (AsyncLinUCB, {"gamma": 5, "gamma_upload": 0.0}, "gamma_upload", "0.0", THRESHOLD),
    (AsyncLinUCB, {"gamma": 5, "gamma_upload": np.array([1.0, 2.0])}, "gamma_upload", "[1., 2.]", "to gamma, 5.0"),
    (AsyncLinUCB, {"gamma": {7: 5.0, 9: 2.0}}, "gamma", "{7: 5.0, 9: 2.0}", THRESHOLD),
    (AsyncLinUCB, {"gamma": np.array(5.0)}, "gamma", "array(5.)", THRESHOLD),
    (AsyncLinUCB, {"gamma": 10**400}, "gamma", "1000", THRESHOLD),
    (AsyncLinUCB, {"gamma": 2, "gamma_upload": 3}, "gamma_upload", "3", "equal to gamma, 2.0"),
    (AsyncLinUCB, {"gamma": 2, "ridge": 0}, "ridge", "0", "above 0"),
    (AsyncLinUCB, {"gamma": 2, "ridge": math.inf}, "ridge", "inf", "above 0"),
    (AsyncLinUCB, {"gamma": 2, "alpha": "lots"}, "alpha", "'lots'", "theory"),
    (AsyncLinUCB, {"gamma": 2, "alpha": math.nan}, "alpha", "nan", "theory"),
    (AsyncLinUCB, {"gamma": 2, "alpha": np.zeros((3, 3))}, "alpha", "0.]])", "theory"),
    (AsyncLinUCB, {"gamma": 2, "sigma": -0.1}, "sigma", "-0.1", "from 0"),
    (AsyncLinUCB, {"gamma": 2, "delta": 1.0}, "delta", "1.0", "below 1"),
    (AsyncLinUCB, {"gamma": 2, "delta": 0.0}, "delta", "0.0", "above 0"),
    (AsyncLinUCBAsPublished, {"gamma": 3, "stale_models": "yes"}, "stale_models", "'yes'", "True or False"),
    (AsyncLinUCBAsPublished, {"gamma": 3, "first_maximum": 1}, "first_maximum", "1", "True or False"),
    (AsyncLinUCBAM, {"gamma": 2, "global_dim": 0}, "global_dim", "0", "an integer from 1"),
    (AsyncLinUCBAM, {"gamma": 2, "global_dim": 2.0}, "global_dim", "2.0", "an integer from 1"),
    (AsyncLinUCBAM, {"gamma": 2, "warm_start": 1}, "warm_start", "1", "True or False"),
    (AsyncLinUCBAM, {"gamma": 2, "am_iterations": 0}, "am_iterations", "0", "an integer from 1"),
    (AsyncLinUCBAM, {"gamma": 2, "order": "both"}, "order", "'both'", "'global' or 'local'"),
    (AsyncLinUCBAM, {"gamma": 2, "width": None}, "width", "None", "'lemma' or 'noise'"),
    (SyncLinUCB, {"threshold": -1}, "threshold", "-1", "from 0 to inf"),
    (SyncLinUCB, {"threshold": 1, "clock": np.array(["own", "rounds"])}, "clock", "['own'", "'own' or 'rounds'"),
]
"""`tests/conformance` tries further values with every method."""


@pytest.mark.parametrize(("method", "parameters", "name", "value", "expected"), CASES)
def test_the_error_for_an_invalid_hyper_parameter_names_value_and_expectation(
    method: type, parameters: dict[str, Any], name: str, value: str, expected: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(name)) as error:
        method(**parameters)
    message = str(error.value)
    assert value in message
    assert expected in message
    assert message.startswith((f"{name} must ", f"{name} is missing; "))
    assert "\n" not in message


@pytest.fixture(scope="module")
def stream() -> EventStream:
    return simulate(seed=0, steps=20, clients=4, arms=3, dimension=5)


def test_a_global_dimension_above_the_dimension_is_refused(stream: EventStream) -> None:
    with pytest.raises(ValueError, match="global_dim must be an integer from 1 to 5, got 6"):
        replay(AsyncLinUCBAM(gamma=2, global_dim=6), stream)


def test_a_wrong_number_of_thresholds_is_refused(stream: EventStream) -> None:
    clients = len(stream.client_ids)
    with pytest.raises(ValueError, match=f"gamma_upload must have .* {clients} clients, got 2 values"):
        replay(AsyncLinUCB(gamma_upload=(2.0, 3.0), gamma_download=2), stream)


@pytest.mark.parametrize("seed", [-1, 1.5, "0", 2**63, None])
def test_a_seed_must_be_an_integer_in_range(stream: EventStream, seed: object) -> None:
    with pytest.raises(ValueError, match=r"seed must be an integer from 0 to 9223372036854775807, got "):
        replay(RandomChoice(), stream, seed)


def test_hyper_parameters_are_frozen_comparable_and_replaceable() -> None:
    algorithm = AsyncLinUCB(gamma=np.float64(5), alpha=0.3, ridge=0.2)
    assert algorithm == AsyncLinUCB(gamma_upload=5, gamma_download=5, gamma=5)
    assert algorithm == AsyncLinUCB(gamma_upload=5, gamma_download=5)
    assert AsyncLinUCB(gamma_upload=[2, 3], gamma_download=4).gamma is None
    assert hash(algorithm) == hash(AsyncLinUCB(gamma=5.0))
    assert (algorithm.gamma_upload, algorithm.gamma_download, algorithm.name) == (5.0, 5.0, "async-linucb")
    with pytest.raises(AttributeError):
        algorithm.ridge = 1.0
