"""Async-LinTS: Thompson sampling on the event-triggered protocol of Algorithm 1."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from algorithms import hyperparameters as check
from algorithms.hyperparameters import Alpha, Threshold
from algorithms.method import GAMMA, About, FederatedMethod, Front, Kind, Limits


@dataclass(frozen=True, kw_only=True)
class AsyncLinTS(FederatedMethod):
    """Exchange data as in Async-LinUCB; choose the best arm for a model drawn at random around the estimate.

    `v` is the scale of the draw, or "theory" for σ√(9d·log(max(n, 2)/δ)) with the n observations in the client's
    model. `gamma`, `gamma_upload`, `gamma_download`, `ridge`, `sigma`, `delta` and `welcome` are as in Async-LinUCB.
    """

    name: ClassVar[str] = "async-lints"
    label: ClassVar[str] = "Async-LinTS"
    reference: ClassVar[str] = "the paper, section 3.2; Agrawal and Goyal, ICML 2013"
    about: ClassVar[About | None] = About(
        idea="Clients and server exchange data exactly as in Async-LinUCB. A client explores by drawing a model at "
        "random around its estimate, instead of adding a bound.",
        formula="V_i(λ) = LLᵀ; z = d standard normals of this step\n"
        "choose: argmax xᵀθ̂_i + v·(L⁻¹x)ᵀz, with the same z for the whole pool",
        sends="{ΔV, Δb}: the new observations, up and down",
        deviations=('The paper mentions it in a footnote only; v="theory" is that of Agrawal and Goyal.',),
    )
    front: ClassVar[Front | None] = GAMMA
    tuning: ClassVar = {"v": (0.0, 0.1, 0.3), "ridge": (0.01, 0.2, 4.0, 80.0)}
    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = {"with welcome (ours)": {"welcome": True}}
    style: ClassVar[int | None] = 13
    kind: ClassVar[Kind | None] = "one model"
    microseconds_per_step: ClassVar[float] = 7.0
    compile_seconds: ClassVar[int | None] = 8
    gamma: Threshold | None = None
    gamma_upload: Threshold | None = None
    gamma_download: Threshold | None = None
    v: Alpha = 0.3
    ridge: float = 0.2
    sigma: float = 0.1
    delta: float = 0.1
    welcome: bool = False

    def __post_init__(self) -> None:
        check.normalise_thresholds(self)
        check.normalise_confidence(self, "v")
        check.true_or_false("welcome", self.welcome)

    @classmethod
    def examples(cls) -> Iterable["AsyncLinTS"]:
        """Return both extremes, the scale of the theory, no randomness, different thresholds, and a welcome."""
        yield from (AsyncLinTS(gamma=gamma) for gamma in (1, 2, math.inf))
        yield AsyncLinTS(gamma_upload=1.2, gamma_download=4, v="theory", ridge=0.1)
        yield AsyncLinTS(gamma_upload=3, gamma_download=1, v=0)
        yield AsyncLinTS(gamma=1.5, v="theory", welcome=True)

    def limits(self) -> Limits:
        """Return the limits that `make bench` checks."""
        return Limits(floor_multiple=3.0, growth=1.5)
