"""Hyper-parameters: checks shared by constructors, whose errors name parameter, value and what is expected; texts."""

import math
from numbers import Real
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Threshold = float | tuple[float, ...]
"""One value for all clients, or one per client in increasing order of client id."""

Alpha = float | Literal["theory"]

MIN_RIDGE, MAX_RIDGE = 1e-50, 1e50


def _is_real(value: object) -> bool:
    try:
        return isinstance(value, Real) and not isinstance(value, bool) and not math.isnan(float(value))
    except OverflowError:
        return False


def shown(value: object) -> str:
    """Write a value that is refused, in one line."""
    return " ".join(repr(value).split())


def threshold(name: str, value: object) -> Threshold:
    """Check a communication threshold γ ≥ 1; `inf` means no communication."""
    if isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim == 1):
        values = tuple(_one_threshold(name, entry) for entry in value)
        if not values:
            raise ValueError(f"{name} must be a number, or one number per client, got an empty list")
        return values
    return _one_threshold(name, value)


def _one_threshold(name: str, value: object) -> float:
    if not _is_real(value) or float(value) < 1:  # type: ignore[arg-type]
        raise ValueError(f"{name} must be a number from 1 to inf, got {shown(value)}")
    return float(value)  # type: ignore[arg-type]


def per_client(name: str, value: Threshold | None, clients: int) -> NDArray[np.float64]:
    """Return the threshold of each client of a stream."""
    if not isinstance(value, tuple):
        return np.full(clients, value, dtype=np.float64)
    if len(value) != clients:
        raise ValueError(
            f"{name} must have one value for each of the stream's {clients} clients, got {len(value)} values"
        )
    return np.array(value)


def real(name: str, value: object, low: float, high: float, expected: str) -> float:
    """Check a number in the closed interval [low, high]."""
    if not _is_real(value) or not low <= float(value) <= high:  # type: ignore[arg-type]
        raise ValueError(f"{name} must be {expected}, got {shown(value)}")
    return float(value)  # type: ignore[arg-type]


def ridge(value: object, name: str = "ridge") -> float:
    """Check λ > 0."""
    expected = f"a number above 0 (from {MIN_RIDGE:g} to {MAX_RIDGE:g})"
    return real(name, value, MIN_RIDGE, MAX_RIDGE, expected)


def finite(name: str, value: object) -> float:
    """Check a finite number from 0, such as an α without a formula."""
    return real(name, value, 0, 1e50, "a finite number from 0")


def assign(method: Any, **values: Any) -> None:
    """Set fields of a frozen dataclass."""
    for name, value in values.items():
        object.__setattr__(method, name, value)


def integer(name: str, value: object, low: int, high: int | None = None) -> int:
    """Check an integer in [low, high]."""
    is_integer = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not is_integer or not low <= int(value) <= (high if high is not None else int(value)):  # type: ignore[call-overload]
        interval = f"from {low}" if high is None else f"from {low} to {high}"
        raise ValueError(f"{name} must be an integer {interval}, got {shown(value)}")
    return int(value)  # type: ignore[call-overload, no-any-return]


def integer_or_inf(name: str, value: object, low: int) -> float:
    """Check an integer from `low`, or inf."""
    if _is_real(value) and float(value) >= low and (math.isinf(float(value)) or float(value).is_integer()):  # type: ignore[arg-type]
        return float(value)  # type: ignore[arg-type]
    raise ValueError(f"{name} must be an integer from {low}, or inf, got {shown(value)}")


def one_of(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Check a word."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be {' or '.join(map(repr, choices))}, got {shown(value)}")


def true_or_false(name: str, value: object) -> None:
    """Check a boolean."""
    if not isinstance(value, bool):
        raise ValueError(f"{name} must be True or False, got {shown(value)}")


def seed(value: object) -> int:
    """Check the seed of a run."""
    return integer("seed", value, 0, 2**63 - 1)


def normalise_thresholds(algorithm: Any) -> None:
    """Check γ, or γ_U and γ_D, of a frozen dataclass; always set γ_U and γ_D, and γ if they are equal."""
    gamma = None if algorithm.gamma is None else threshold("gamma", algorithm.gamma)
    thresholds: dict[str, Threshold] = {}
    for name in ("gamma_upload", "gamma_download"):
        value = getattr(algorithm, name)
        if value is None and gamma is None:
            raise ValueError(f"{name} is missing; give either gamma, or both gamma_upload and gamma_download")
        thresholds[name] = gamma if value is None and gamma is not None else threshold(name, value)
        if gamma is not None and thresholds[name] != gamma:
            raise ValueError(f"{name} must be equal to gamma, {gamma!r}, where both are given, got {shown(value)}")
    upload, download = thresholds.values()
    for name, value in (*thresholds.items(), ("gamma", upload if upload == download else None)):
        object.__setattr__(algorithm, name, value)


def normalise_confidence(algorithm: Any, scale: str = "alpha") -> None:
    """Check α, λ, σ (the scale of the noise) and δ (the probability that a bound fails) of a frozen dataclass.

    `scale` is the parameter that has the place of α in another method.
    """
    checked: dict[str, Any] = {scale: "theory"}
    value = getattr(algorithm, scale)
    if not (isinstance(value, str) and value == "theory"):
        checked[scale] = real(scale, value, 0, 1e50, 'a finite number from 0, or "theory"')
    checked["ridge"] = ridge(algorithm.ridge)
    checked["sigma"] = real("sigma", algorithm.sigma, 0, 1e50, "a finite number from 0")
    smallest, largest = np.finfo(float).tiny, 1 - np.finfo(float).epsneg
    checked["delta"] = real("delta", algorithm.delta, smallest, largest, "a number above 0 and below 1")
    for name, value in checked.items():
        object.__setattr__(algorithm, name, value)


def number_text(value: Any) -> str:
    """Write a value in its short form: 5, 1.01, inf."""
    if isinstance(value, float):
        return f"{value:g}" if math.isclose(value, float(f"{value:g}"), rel_tol=1e-12) else repr(value)
    return str(value)


class Confidence(NamedTuple):
    """The parameters of the width of a confidence bound: α (NaN for the formula), λ, σ and δ."""

    alpha: float
    ridge: float
    sigma: float
    delta: float


def confidence_of(algorithm: Any, extra_sigma: float = 0.0) -> Confidence:
    """Encode α, λ, σ and δ for a kernel; α is NaN for "theory", and only then σ and δ are used."""
    alpha = math.nan if algorithm.alpha == "theory" else float(algorithm.alpha)
    sigma, delta = getattr(algorithm, "sigma", 0.0), getattr(algorithm, "delta", 1.0)
    return Confidence(alpha, algorithm.ridge, sigma + extra_sigma, delta)
