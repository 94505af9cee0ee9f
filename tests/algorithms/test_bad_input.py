"""Invalid input raises a ValueError that names the parameter, the value and what is expected, before any work."""

import math
import re
from typing import Any

import numpy as np
import pytest

from algorithms import (
    FCLUB,
    AsyncLinTS,
    AsyncLinUCB,
    AsyncLinUCBAM,
    AsyncLinUCBAsPublished,
    AsyncLinUCBShrunk,
    AsyncLinUCBThenAlone,
    DisLinUCB,
    FedIGW,
    FedLinUCB,
    MeanLinUCB,
    PrivateFedLinUCB,
    RandomChoice,
    SyncLinUCB,
)
from benchmark import EventStream
from benchmark.execution.replay import replay
from data_pipelines import simulate

GAMMA = "must be a number from 1 to inf, got"
EQUAL = "must be equal to gamma, 2.0, where both are given, got"
MISSING = "give either gamma, or both gamma_upload and gamma_download"
THEORY = 'must be a finite number from 0, or "theory", got'
RIDGE = "must be a number above 0 (from 1e-50 to 1e+50), got"
EPSILON = "epsilon must be a number above 0 (from 1e-50), or inf, got"
WITH_CONFIDENCE = [AsyncLinUCB, AsyncLinUCBAM, AsyncLinTS, AsyncLinUCBThenAlone, SyncLinUCB, DisLinUCB]
WITHOUT_THEORY = [AsyncLinUCBShrunk, FCLUB, FedLinUCB, MeanLinUCB, PrivateFedLinUCB]
CASES: list[tuple[Any, dict[str, Any], str]] = [
    *((method, {"sigma": -0.1}, "sigma must be a finite number from 0, got -0.1") for method in WITH_CONFIDENCE),
    *((method, {"delta": 1.0}, "delta must be a number above 0 and below 1, got 1.0") for method in WITH_CONFIDENCE),
    *((method, {"gamma": (2.0, 3.0)}, f"gamma {GAMMA} (2.0, 3.0)") for method in (FCLUB, FedLinUCB, MeanLinUCB)),
    *((method, {"alpha": "theory"}, "alpha must be a finite number from 0, got 'theory'") for method in WITHOUT_THEORY),
    (AsyncLinUCB, {"gamma": 0.5}, f"gamma {GAMMA} 0.5"),
    (AsyncLinUCB, {"gamma": ()}, "gamma must be a number, or one number per client, got an empty list"),
    (AsyncLinUCB, {"gamma": (2.0, 0.1)}, f"gamma {GAMMA} 0.1"),
    (AsyncLinUCB, {"gamma": None}, f"gamma_upload is missing; {MISSING}"),
    (AsyncLinUCB, {"gamma": None, "gamma_upload": 2}, f"gamma_download is missing; {MISSING}"),
    (AsyncLinUCB, {"gamma_upload": 0.0}, f"gamma_upload {GAMMA} 0.0"),
    (AsyncLinUCB, {"gamma_upload": np.array([1.0, 2.0])}, f"gamma_upload {EQUAL} array([1., 2.])"),
    (AsyncLinUCB, {"gamma": {7: 5.0, 9: 2.0}}, f"gamma {GAMMA} {{7: 5.0, 9: 2.0}}"),
    (AsyncLinUCB, {"gamma": np.array(5.0)}, f"gamma {GAMMA} array(5.)"),
    (AsyncLinUCB, {"gamma": 10**400}, f"gamma {GAMMA} 1{400 * '0'}"),
    (AsyncLinUCB, {"gamma_upload": 3}, f"gamma_upload {EQUAL} 3"),
    (AsyncLinUCB, {"ridge": 0}, f"ridge {RIDGE} 0"),
    (AsyncLinUCB, {"ridge": math.inf}, f"ridge {RIDGE} inf"),
    (AsyncLinUCB, {"alpha": "lots"}, f"alpha {THEORY} 'lots'"),
    (AsyncLinUCB, {"alpha": math.nan}, f"alpha {THEORY} nan"),
    (AsyncLinUCB, {"alpha": np.zeros((1, 2))}, f"alpha {THEORY} array([[0., 0.]])"),
    (AsyncLinUCB, {"delta": 0.0}, "delta must be a number above 0 and below 1, got 0.0"),
    (AsyncLinUCBAsPublished, {"stale_models": "yes"}, "stale_models must be True or False, got 'yes'"),
    (AsyncLinUCBAsPublished, {"first_maximum": 1}, "first_maximum must be True or False, got 1"),
    (AsyncLinUCBAM, {"global_dim": 0}, "global_dim must be an integer from 1, got 0"),
    (AsyncLinUCBAM, {"global_dim": 2.0}, "global_dim must be an integer from 1, got 2.0"),
    (AsyncLinUCBAM, {"warm_start": 1}, "warm_start must be True or False, got 1"),
    (AsyncLinUCBAM, {"am_iterations": 0}, "am_iterations must be an integer from 1, got 0"),
    (AsyncLinUCBAM, {"order": "both"}, "order must be 'global' or 'local', got 'both'"),
    (AsyncLinUCBAM, {"width": None}, "width must be 'lemma' or 'noise', got None"),
    (AsyncLinTS, {"v": "lots"}, f"v {THEORY} 'lots'"),
    (AsyncLinTS, {"v": math.inf}, f"v {THEORY} inf"),
    (AsyncLinTS, {"v": True}, f"v {THEORY} True"),
    (AsyncLinUCBShrunk, {"pull": math.inf}, f"pull {RIDGE} inf"),
    (AsyncLinUCBShrunk, {"pull": "strong"}, f"pull {RIDGE} 'strong'"),
    (AsyncLinUCBThenAlone, {"share_for": -1}, "share_for must be an integer from 0, or inf, got -1"),
    (AsyncLinUCBThenAlone, {"share_for": 2.5}, "share_for must be an integer from 0, or inf, got 2.5"),
    (AsyncLinUCBThenAlone, {"share_for": True}, "share_for must be an integer from 0, or inf, got True"),
    (AsyncLinUCBThenAlone, {"share_for": 5, "gamma": (2.0, 3.0)}, f"gamma {GAMMA} (2.0, 3.0)"),
    (AsyncLinUCBThenAlone, {"share_for": 5, "keep": "both"}, "keep must be 'own' or 'shared', got 'both'"),
    (FCLUB, {"gamma": None, "gamma_upload": 2}, f"gamma_download is missing; {MISSING}"),
    (FCLUB, {"gamma": None, "gamma_upload": 2, "gamma_download": (2, 3)}, f"gamma_download {GAMMA} (2, 3)"),
    (FCLUB, {"gamma_upload": 3}, f"gamma_upload {EQUAL} 3"),
    (FCLUB, {"distance": -0.1}, "distance must be a number from 0 to inf, got -0.1"),
    (FCLUB, {"distance": "near"}, "distance must be a number from 0 to inf, got 'near'"),
    (FedIGW, {"longest": 2.5}, "longest must be an integer from 1, or inf, got 2.5"),
    (FedIGW, {"longest": 4, "rule": "greedy"}, "rule must be 'igw' or 'softmax' or 'epsilon', got 'greedy'"),
    (FedIGW, {"longest": 4, "sharpness": -1}, "sharpness must be a finite number from 0, got -1"),
    (FedIGW, {"longest": 4, "sharpness": math.inf}, "sharpness must be a finite number from 0, got inf"),
    (FedLinUCB, {"own_data": 1}, "own_data must be True or False, got 1"),
    (MeanLinUCB, {"pull": True}, f"pull {RIDGE} True"),
    (PrivateFedLinUCB, {"period": 1.5}, "period must be an integer from 1, or inf, got 1.5"),
    (PrivateFedLinUCB, {"period": 5, "epsilon": 0}, f"{EPSILON} 0"),
    (PrivateFedLinUCB, {"period": 5, "epsilon": math.nan}, f"{EPSILON} nan"),
    (PrivateFedLinUCB, {"period": 5, "privacy_delta": 1}, "privacy_delta must be a number above 0 and below 1, got 1"),
    (SyncLinUCB, {"threshold": -1}, "threshold must be a number from 0 to inf, got -1"),
    (SyncLinUCB, {"clock": "wall"}, "clock must be 'own' or 'rounds', got 'wall'"),
    (SyncLinUCB, {"clock": np.zeros(2)}, "clock must be 'own' or 'rounds', got array([0., 0.])"),
    (SyncLinUCB, {"charge": "some"}, "charge must be 'known' or 'all', got 'some'"),
    (SyncLinUCB, {"patience": -1}, "patience must be seconds, from 0 to inf, got -1"),
    (SyncLinUCB, {"patience": math.nan}, "patience must be seconds, from 0 to inf, got nan"),
]
"""`tests/conformance` tries further values of the front and of tuned parameters with every method."""


@pytest.mark.parametrize(("method", "values", "line"), CASES)
def test_the_error_for_an_invalid_hyper_parameter_names_value_and_expectation(
    method: Any, values: dict[str, Any], line: str
) -> None:
    front = {method.front.parameter: 2} if method.front else {}
    with pytest.raises(ValueError, match=f"^{re.escape(line)}$"):
        method(**{**front, **values})


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
