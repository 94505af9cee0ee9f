"""Mean-LinUCB: ridge regression towards the mean of the clients' estimates."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from algorithms import hyperparameters as check
from algorithms.method import GAMMA, NO_COMMUNICATION, About, FederatedMethod, Front, Kind, Limits


@dataclass(frozen=True, kw_only=True)
class MeanLinUCB(FederatedMethod):
    """Hyper-parameters of Mean-LinUCB.

    A client whose own data have grown by the factor `gamma` (γ) sends its estimate and downloads the mean of all
    clients' latest estimates. It decides with its own data and with ridge regression towards that mean; `pull` (ρ) is
    the ridge, and `alpha` is α of the confidence bound. The published AVG-OFUL sees all clients' data; when estimates
    are sent, and that only they are, is ours.
    """

    name: ClassVar[str] = "mean-linucb"
    label: ClassVar[str] = "Mean-LinUCB (ours)"
    reference: ClassVar[str] = "after AVG-OFUL, Cella, Lazaric, Pontil, ICML 2020"
    about: ClassVar[About | None] = About(
        idea="Each client regresses its own data towards the mean of all clients' estimates. It sends its estimate "
        "when its own data have grown by a factor of more than γ, and downloads the mean.",
        formula="h = the mean that was downloaded last (0 before); θ_i = h + (V_o + ρI)⁻¹(b_o − V_o·h)\n"
        "choose: argmax xᵀθ_i + α√(xᵀ(V_o + ρI)⁻¹x)\n"
        "learn: if det V_o(ρ) / det V_o(ρ) at the last upload > γ: upload (V_o + ρI)⁻¹b_o, download h",
        sends="one vector of d numbers, up and down",
        deviations=("The published method sees all clients' data; the federated form is ours.",),
    )
    front: ClassVar[Front | None] = replace(GAMMA, landmarks={math.inf: NO_COMMUNICATION})
    scaled: ClassVar[tuple[str, ...]] = ("pull",)
    tuning: ClassVar[Mapping[str, tuple[Any, ...]] | None] = {"alpha": (0.0, 0.1, 0.3), "pull": (0.01, 0.2, 4.0, 80.0)}
    style: ClassVar[int | None] = 15
    kind: ClassVar[Kind | None] = "personal"
    microseconds_per_step: ClassVar[float] = 9.0
    compile_seconds: ClassVar[int | None] = 5
    gamma: float
    pull: float = 1.0
    alpha: float = 0.3

    def __post_init__(self) -> None:
        check.assign(
            self,
            gamma=check.real("gamma", self.gamma, 1, math.inf, "a number from 1 to inf"),
            pull=check.ridge(self.pull, "pull"),
            alpha=check.finite("alpha", self.alpha),
        )

    @property
    def ridge(self) -> float:
        """Its only ridge is ρ."""
        return self.pull

    @classmethod
    def examples(cls) -> Iterable["MeanLinUCB"]:
        """Return both extremes, thresholds in between, and a strong and a weak pull."""
        yield from (MeanLinUCB(gamma=gamma) for gamma in (1, 1.3, 10, math.inf))
        yield MeanLinUCB(gamma=2, pull=20.0, alpha=1.0)
        yield MeanLinUCB(gamma=2, pull=0.05, alpha=0.0)

    def limits(self) -> Limits:
        """Return the limits that `make bench` checks."""
        return Limits(floor_multiple=3.0, growth=1.5)
