"""Async-LinUCB-Shrunk: each client's own ridge regression towards the model that it shares by Algorithm 1."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from algorithms import hyperparameters as check
from algorithms.hyperparameters import Threshold
from algorithms.method import GAMMA, About, FederatedMethod, Front, Kind, Limits


@dataclass(frozen=True, kw_only=True)
class AsyncLinUCBShrunk(FederatedMethod):
    """Interpolate between learning alone and sharing everything: RR-OFUL in a federated form, which is ours.

    A client regresses its own observations with the shared estimate as the centre instead of zero. `pull` is ρ, the
    ridge of this regression: the larger it is, the closer the client stays to the shared estimate. The data for the
    latter are exchanged as in Async-LinUCB, with `ridge` (λ); `gamma`, `gamma_upload`, `gamma_download`, `alpha` and
    `welcome` are as there.
    """

    name: ClassVar[str] = "async-linucb-shrunk"
    label: ClassVar[str] = "Async-LinUCB-Shrunk (ours)"
    reference: ClassVar[str] = "ours, after RR-OFUL (Cella, Lazaric and Pontil, ICML 2020)"
    about: ClassVar[About | None] = About(
        idea="Each client regresses its own data towards the shared model of Async-LinUCB. The more data a client has, "
        "the more it trusts them, so the method lies between learning alone and one model for all.",
        formula="h = θ̂(V_c, b_c), the model of Async-LinUCB; θ_i = h + (V_o + ρI)⁻¹(b_o − V_o·h)\n"
        "choose: argmax xᵀθ_i + α√(xᵀ(V_o + ρI)⁻¹x)\n"
        "learn: add (x, y) to the own statistics and to Algorithm 1, whose tests use λ",
        sends="{ΔV, Δb}: the new observations, up and down",
        deviations=("The published method is not federated; the exchange by Algorithm 1 is ours.",),
    )
    front: ClassVar[Front | None] = GAMMA
    scaled: ClassVar[tuple[str, ...]] = ("ridge", "pull")
    tuning: ClassVar = {"alpha": (0.0, 0.1, 0.3), "pull": (0.2, 1.0, 4.0, 80.0), "ridge": (0.2,)}
    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = {"with welcome (ours)": {"welcome": True}}
    style: ClassVar[int | None] = 14
    kind: ClassVar[Kind | None] = "personal"
    microseconds_per_step: ClassVar[float] = 11.0
    compile_seconds: ClassVar[int | None] = 9
    gamma: Threshold | None = None
    gamma_upload: Threshold | None = None
    gamma_download: Threshold | None = None
    pull: float = 1.0
    alpha: float = 0.3
    ridge: float = 0.2
    welcome: bool = False

    def __post_init__(self) -> None:
        check.normalise_thresholds(self)
        check.assign(
            self,
            pull=check.ridge(self.pull, "pull"),
            alpha=check.finite("alpha", self.alpha),
            ridge=check.ridge(self.ridge),
        )
        check.true_or_false("welcome", self.welcome)

    @classmethod
    def examples(cls) -> Iterable["AsyncLinUCBShrunk"]:
        """Return both extremes, a weak and a strong pull, different thresholds, and a welcome."""
        yield from (AsyncLinUCBShrunk(gamma=gamma) for gamma in (1, 2, math.inf))
        yield AsyncLinUCBShrunk(gamma_upload=1.2, gamma_download=4, pull=0.05, ridge=0.1)
        yield AsyncLinUCBShrunk(gamma_upload=3, gamma_download=1, pull=80.0, alpha=1.0)
        yield AsyncLinUCBShrunk(gamma=1.5, welcome=True)

    def limits(self) -> Limits:
        """Return the limits that `make bench` checks."""
        return Limits(floor_multiple=3.0, growth=1.5)
