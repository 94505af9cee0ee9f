"""Async-LinUCB, Algorithm 2: LinUCB on the event-triggered protocol of Algorithm 1; and as its script was published."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from algorithms import hyperparameters as check
from algorithms.hyperparameters import Alpha, Threshold
from algorithms.method import (
    EVERYTHING_SHARED,
    GAMMA,
    NO_COMMUNICATION,
    About,
    FederatedMethod,
    Front,
    Kind,
    Limits,
    Role,
)


@dataclass(frozen=True, kw_only=True)
class AsyncLinUCB(FederatedMethod):
    """Hyper-parameters of Async-LinUCB.

    Give `gamma` (γ), or `gamma_upload` (γ_U) and `gamma_download` (γ_D) where they differ; each is a number
    from 1 to inf, or one per client in increasing order of client id. `ridge` is λ; `alpha` is α, or
    "theory" for the formula after Eq. 5, which uses `sigma` (σ) and `delta` (δ). With `welcome` (ours), the server
    sends a new client its state before the client's first decision.
    """

    name: ClassVar[str] = "async-linucb"
    label: ClassVar[str] = "Async-LinUCB"
    reference: ClassVar[str] = "the paper, Algorithm 2"
    about: ClassVar[About | None] = About(
        idea="Each client chooses with one model for all, made of its own data and of what it has received. It uploads "
        "when its own new data have increased the determinant of its statistics by a factor of more than γ; the server "
        "sends each client what it lacks by the same test.",
        formula="choose: argmax xᵀθ̂(V_i, b_i) + α·w(x, V_i)\n"
        "upload (ΔV_i, Δb_i) if det V_i(λ) / det (V_i − ΔV_i)(λ) > γ_U\n"
        "then download for each client j with det V_g(λ) / det (V_g − ΔV_−j)(λ) > γ_D",
        sends="{ΔV, Δb}: the new observations, up and down",
    )
    front: ClassVar[Front | None] = replace(GAMMA, landmarks={1.0: EVERYTHING_SHARED, math.inf: NO_COMMUNICATION})
    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = {"with welcome (ours)": {"welcome": True}}
    style: ClassVar[int | None] = 0
    kind: ClassVar[Kind | None] = "one model"
    is_usual: ClassVar[bool] = True
    added: ClassVar = {"welcome": False}
    microseconds_per_step: ClassVar[float] = 6.0
    compile_seconds: ClassVar[int | None] = 8
    gamma: Threshold | None = None
    gamma_upload: Threshold | None = None
    gamma_download: Threshold | None = None
    alpha: Alpha = 0.3
    ridge: float = 0.2
    sigma: float = 0.1
    delta: float = 0.1
    welcome: bool = False

    def __post_init__(self) -> None:
        check.normalise_thresholds(self)
        check.normalise_confidence(self)
        check.true_or_false("welcome", self.welcome)

    @classmethod
    def examples(cls) -> Iterable["AsyncLinUCB"]:
        """Return both extremes, thresholds in between, and different thresholds for uploads and downloads."""
        yield from (AsyncLinUCB(gamma=gamma) for gamma in (1, 1.01, 2, 30, math.inf))
        yield AsyncLinUCB(gamma_upload=1.2, gamma_download=4, alpha="theory", ridge=0.1)
        yield AsyncLinUCB(gamma_upload=3, gamma_download=1, alpha=1.0, ridge=1.0)
        yield from (AsyncLinUCB(gamma=gamma, welcome=True) for gamma in (1, 2))

    def limits(self) -> Limits:
        """Return the limits that `make bench` checks."""
        return Limits(floor_multiple=0.9, growth=1.3, memory=6.0)


@dataclass(frozen=True, kw_only=True)
class AsyncLinUCBAsPublished(AsyncLinUCB):
    """Async-LinUCB with two peculiarities of the published script, to measure their effect.

    Not a method of the paper: each departs from Algorithm 2 and has its own study in `benchmark/experiments`.
    `stale_models`: a client chooses with the model it had after its last observation; later downloads take effect
    only after its next observation. `first_maximum`: the first of several equal scores wins, instead of a random one;
    scores are equal if the methods of the paper treat them as a tie, so that rounding does not decide.
    """

    name: ClassVar[str] = "async-linucb-as-published"
    label: ClassVar[str] = "Async-LinUCB as published"
    reference: ClassVar[str] = "the paper's published script"
    role: ClassVar[Role] = "reference"
    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    style: ClassVar[int | None] = 4
    microseconds_per_step: ClassVar[float] = 9.0
    compile_seconds: ClassVar[int | None] = 8
    stale_models: bool = False
    first_maximum: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check.true_or_false("stale_models", self.stale_models)
        check.true_or_false("first_maximum", self.first_maximum)

    @classmethod
    def examples(cls) -> Iterable["AsyncLinUCBAsPublished"]:
        """Return one method per peculiarity."""
        yield AsyncLinUCBAsPublished(gamma=1.5, stale_models=True)
        yield AsyncLinUCBAsPublished(gamma=1.5, first_maximum=True)

    def limits(self) -> Limits:
        """Return no limits: the speed of a method that only a study uses does not matter."""
        return Limits()
