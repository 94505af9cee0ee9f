"""Private-FedLinUCB: LinUCB on sums with noise that are exchanged on a fixed schedule."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from algorithms import hyperparameters as check
from algorithms.method import About, FederatedMethod, Front, Kind, Limits

PERIOD = Front(
    "period",
    "B",
    (math.inf, 6e4, 4e4, 3e4, 2e4, 1.5e4, 1e4, 7e3, 5e3, 3e3, 2e3, 1e3),
)
"""The number of steps of the stream between two synchronisations."""


@dataclass(frozen=True, kw_only=True)
class PrivateFedLinUCB(FederatedMethod):
    """LinUCB with (ε, δ)-differential privacy for each observation; details are ours.

    Every `period` steps, every known client uploads the sum of its recent observations with Gaussian noise, and
    downloads the total. `epsilon` is ε, and inf means no noise; `privacy_delta` is δ; `alpha` is α, and `ridge` λ.

    The schedule is fixed, because noise does not make an event-triggered method private: its trigger depends on the
    data, so the times of messages leak them. FedUCB (Dubey and Pentland, 2020) is superseded for this.

    What is protected: one observation (x, y) of one client, all others being equal; x is scaled to length 1 and y
    clipped to [-1, 1] if they are larger. A message changes with it by at most 4.5 in squared norm, and at most L
    messages do, hence the scale of the noise. What is not protected: the effect of an observation on the client's own
    later choices; when and how often clients act; a client's whole history. The noise follows from a seed, so that
    runs can be repeated: it is for simulation, not for deployment.
    """

    name: ClassVar[str] = "private-fed-linucb"
    label: ClassVar[str] = "Private-FedLinUCB (ours)"
    reference: ClassVar[str] = "after Zhou and Chowdhury, 2024; details ours"
    about: ClassVar[About | None] = About(
        idea="Every B steps, each known client uploads the sum of its recent observations with Gaussian noise, and "
        "downloads the total, so that no observation can be recognised in the messages. The schedule is fixed, "
        "because the trigger of an event-triggered method depends on the data and leaks; FedUCB (Dubey and Pentland,"
        " 2020) is superseded for this.",
        formula="choose: argmax xᵀA⁻¹(b_Q + b_total) + α√(xᵀA⁻¹x), A = V_Q + V_total + ΛI; Q: since the last exchange\n"
        "synchronisation k: upload P[j] + noise of scale σ, where j is the lowest set bit of k and P[j] the\n"
        "       sum of the last 2^j batches; σ = 3·√(L(log(1/δ) + ε))/ε",
        sends="{V, b} with noise, up and down",
        deviations=(
            "Features longer than 1 are scaled, rewards are clipped to [−1, 1].",
            "Replacing one observation (x, y) of one client is protected; a client's whole history, when it acts, "
            "and the effect of an observation on the client's own later choices are not.",
            "The noise follows from a seed: for simulation, not for deployment.",
        ),
    )
    front: ClassVar[Front | None] = PERIOD
    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = {"ε = 4": {"epsilon": 4.0}, "ε = 16": {"epsilon": 16.0}}
    style: ClassVar[int | None] = 7
    kind: ClassVar[Kind | None] = "private"
    microseconds_per_step: ClassVar[float] = 10.0
    compile_seconds: ClassVar[int | None] = 5
    period: float
    epsilon: float = 1.0
    privacy_delta: float = 1e-6
    alpha: float = 0.3
    ridge: float = 0.2

    def __post_init__(self) -> None:
        numbers = f"a number above 0 (from {check.MIN_RIDGE:g}), or inf"
        smallest, largest = np.finfo(float).tiny, 1 - np.finfo(float).epsneg
        check.assign(
            self,
            period=check.integer_or_inf("period", self.period, 1),
            epsilon=check.real("epsilon", self.epsilon, check.MIN_RIDGE, math.inf, numbers),
            privacy_delta=check.real(
                "privacy_delta", self.privacy_delta, smallest, largest, "a number above 0 and below 1"
            ),
            alpha=check.finite("alpha", self.alpha),
            ridge=check.ridge(self.ridge),
        )

    def levels(self, steps: int) -> int:
        """Return L, the number of partial sums: synchronisation k ≤ T / period has at most L binary digits."""
        return max(1, int(steps // self.period).bit_length())

    def noise(self, steps: int) -> float:
        """Return σ, the standard deviation of the noise; refuse a δ so large that it protects nothing."""
        if math.isinf(self.epsilon):
            return 0.0
        if self.privacy_delta >= 1 / steps:
            raise ValueError(
                f"privacy_delta must be below 1/{steps}, one over the number of steps, if epsilon is finite: otherwise "
                f"a method that publishes one random observation counts as private, got {self.privacy_delta!r}"
            )
        return (
            3
            * math.sqrt(self.levels(steps))
            * math.sqrt(math.log(1 / self.privacy_delta) + self.epsilon)
            / self.epsilon
        )

    def ridge_with_noise(self, V: NDArray[np.float64], clients: int, steps: int) -> float:
        """Return Λ, for the total V of this many clients: with high probability V + ΛI has no eigenvalue below λ.

        Where the noise is larger than expected, the smallest eigenvalue sets Λ, so that there never is one.
        """
        sigma, L = self.noise(steps), self.levels(steps)
        if sigma == 0:
            return self.ridge
        size = math.sqrt(clients * L) * sigma * (math.sqrt(L + math.log(20)) + math.sqrt(2 * len(V)))
        return max(self.ridge, size, self.ridge - float(np.linalg.eigvalsh(V)[0]))

    @classmethod
    def examples(cls) -> Iterable["PrivateFedLinUCB"]:
        """Return runs with and without noise, with a synchronisation after every step and with none."""
        yield from (PrivateFedLinUCB(period=period) for period in (1, 40, math.inf))
        yield PrivateFedLinUCB(period=7, epsilon=16, privacy_delta=1e-9, alpha=1.0, ridge=4.0)
        yield from (PrivateFedLinUCB(period=period, epsilon=math.inf) for period in (1, 30))

    def limits(self) -> Limits:
        """Return the limits that `make bench` checks; the noise of a phase grows with the number of clients."""
        is_noisy = math.isfinite(self.epsilon) and math.isfinite(self.period)
        return Limits(floor_multiple=3.0, growth=None if is_noisy else 1.5)
