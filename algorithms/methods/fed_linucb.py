"""FedLinUCB: only the acting client exchanges data with the server."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from algorithms import hyperparameters as check
from algorithms.method import GAMMA, NO_COMMUNICATION, About, FederatedMethod, Front, Kind, Limits


@dataclass(frozen=True, kw_only=True)
class FedLinUCB(FederatedMethod):
    """Hyper-parameters of FedLinUCB.

    `gamma` is γ, the paper's 1+α; `alpha` is α of the confidence bound, and `ridge` is λ. A client decides with the
    state that it last downloaded; with `own_data` (ours), it adds its observations since then. With `welcome` (ours),
    the server sends a new client its state before the client's first decision.
    """

    name: ClassVar[str] = "fed-linucb"
    label: ClassVar[str] = "FedLinUCB"
    reference: ClassVar[str] = "He, Wang, Min, Gu, NeurIPS 2022"
    about: ClassVar[About | None] = About(
        idea="Only the client that acts exchanges data with the server, when its new data have increased the "
        "determinant of what it last downloaded by a factor of more than γ. No other client takes part, so a method of "
        "this kind suits clients that are often offline.",
        formula="choose: argmax xᵀθ̂(V_m, b_m) + α·w(x, V_m); the buffer (ΔV, Δb) is not used\n"
        "learn: ΔV += xxᵀ, Δb += xy; if det (V_m + ΔV)(λ) / det V_m(λ) > γ: upload the buffer and\n"
        "       download the server's state: V_m = V_s, b_m = b_s",
        sends="{ΔV, Δb} up, {V_s, b_s} down",
        deviations=(
            "γ is the published 1 + α.",
            "`own_data` (ours) decides with the buffer, too; the default does not, as published.",
        ),
    )
    front: ClassVar[Front | None] = replace(GAMMA, landmarks={math.inf: NO_COMMUNICATION})
    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = {"with welcome (ours)": {"welcome": True}}
    style: ClassVar[int | None] = 3
    kind: ClassVar[Kind | None] = "one model"
    microseconds_per_step: ClassVar[float] = 9.0
    compile_seconds: ClassVar[int | None] = 5
    measured: ClassVar = {"own_data": (False, True)}
    gamma: float
    own_data: bool = False
    alpha: float = 0.3
    ridge: float = 0.2
    welcome: bool = False

    def __post_init__(self) -> None:
        check.assign(
            self,
            gamma=check.real("gamma", self.gamma, 1, math.inf, "a number from 1 to inf"),
            alpha=check.finite("alpha", self.alpha),
            ridge=check.ridge(self.ridge),
        )
        check.true_or_false("own_data", self.own_data)
        check.true_or_false("welcome", self.welcome)

    @classmethod
    def examples(cls) -> Iterable["FedLinUCB"]:
        """Return both extremes and thresholds in between, also with own data and with welcome."""
        yield from (FedLinUCB(gamma=gamma) for gamma in (1, 1.3, 10))
        yield from (FedLinUCB(gamma=gamma, own_data=True) for gamma in (1, 2, math.inf))
        yield FedLinUCB(gamma=2, alpha=1.0, ridge=1.0, welcome=True)
        yield FedLinUCB(gamma=30, own_data=True, alpha=0.0, ridge=0.1, welcome=True)

    def limits(self) -> Limits:
        """Return the limits that `make bench` checks."""
        return Limits(floor_multiple=3.0, growth=1.5)
