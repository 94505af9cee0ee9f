"""Async-LinUCB, then alone: a client shares its first observations, and then leaves."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from algorithms import hyperparameters as check
from algorithms.hyperparameters import Alpha
from algorithms.method import About, FederatedMethod, Front, Kind, Limits

Keep = Literal["own", "shared"]


@dataclass(frozen=True, kw_only=True)
class AsyncLinUCBThenAlone(FederatedMethod):
    """Async-LinUCB until a client has made `share_for` (τ) observations; from then on it neither sends nor receives.

    `keep`: whether it continues with all its own observations only, or with its current model. `gamma`, `alpha`,
    `ridge`, `sigma` and `delta` are as in Async-LinUCB. The idea is that of H-LinUCB; when a client leaves and what it
    keeps is ours.
    """

    name: ClassVar[str] = "async-linucb-then-alone"
    label: ClassVar[str] = "Async-LinUCB, then alone (ours)"
    reference: ClassVar[str] = "ours, after H-LinUCB (Do, Nguyen-Tang and Arora, NeurIPS 2023)"
    about: ClassVar[About | None] = About(
        idea="A client shares as in Async-LinUCB until it has made τ observations of its own. Then it knows enough, "
        "leaves, and neither sends nor receives.",
        formula="the first τ observations: as Async-LinUCB at γ, but no upload after the τ-th\n"
        'then: LinUCB with all own observations (keep="own"), or with the model so far (keep="shared")',
        sends="{ΔV, Δb}: the new observations, up and down",
        deviations=(
            "Published is a method with two phases for clients with little data; when to leave and what to keep are "
            "ours.",
        ),
    )
    front: ClassVar[Front | None] = Front(
        "share_for", "τ", (0.0, 2.0, 3.0, 5.0, 10.0, 20.0, 30.0, 50.0, 100.0, 300.0, 1000.0, math.inf)
    )
    tuning: ClassVar = {"alpha": (0.0, 0.3), "gamma": (1.1, 10.0, 1e4), "ridge": (0.2, 4.0)}
    style: ClassVar[int | None] = 17
    kind: ClassVar[Kind | None] = "personal"
    microseconds_per_step: ClassVar[float] = 6.0
    compile_seconds: ClassVar[int | None] = 8
    welcome: ClassVar[bool] = False
    share_for: float
    gamma: float = 2.0
    keep: Keep = "own"
    alpha: Alpha = 0.3
    ridge: float = 0.2
    sigma: float = 0.1
    delta: float = 0.1

    def __post_init__(self) -> None:
        check.assign(
            self,
            share_for=check.integer_or_inf("share_for", self.share_for, 0),
            gamma=check.real("gamma", self.gamma, 1, math.inf, "a number from 1 to inf"),
        )
        check.one_of("keep", self.keep, get_args(Keep))
        check.normalise_confidence(self)

    @property
    def gamma_upload(self) -> float:
        """γ_U of Algorithm 1."""
        return self.gamma

    @property
    def gamma_download(self) -> float:
        """γ_D of Algorithm 1."""
        return self.gamma

    @classmethod
    def examples(cls) -> Iterable["AsyncLinUCBThenAlone"]:
        """Return both extremes, times in between, everything shared at first, and both ways to continue."""
        yield from (AsyncLinUCBThenAlone(share_for=share_for) for share_for in (0, 1, 20, math.inf))
        yield AsyncLinUCBThenAlone(share_for=5, gamma=1.0, keep="shared")
        yield AsyncLinUCBThenAlone(share_for=30, gamma=1.1, keep="shared", alpha="theory", ridge=0.1)
        yield AsyncLinUCBThenAlone(share_for=12, gamma=1.0, alpha="theory")

    def limits(self) -> Limits:
        """Return the limits that `make bench` checks."""
        return Limits(floor_multiple=3.0, growth=1.5)
