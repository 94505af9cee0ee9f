"""Async-LinUCB, Algorithm 2: LinUCB on the event-triggered protocol of Algorithm 1; and as its script was published."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

from algorithms import hyperparameters as check
from algorithms.hyperparameters import Alpha, Threshold
from algorithms.method import EVERYTHING_SHARED, GAMMA, NO_COMMUNICATION, BuiltInMethod, Front, Limits, Role


@dataclass(frozen=True, kw_only=True)
class AsyncLinUCB(BuiltInMethod):
    """Hyper-parameters of Async-LinUCB.

    Give `gamma` (γ), or `gamma_upload` (γ_U) and `gamma_download` (γ_D) where they differ; each is a number
    from 1 to inf, or one per client in increasing order of client id. `ridge` is λ; `alpha` is α, or
    "theory" for the formula after Eq. 5, which uses `sigma` (σ) and `delta` (δ).
    """

    name: ClassVar[str] = "async-linucb"
    label: ClassVar[str] = "Async-LinUCB"
    reference: ClassVar[str] = "the paper, Algorithm 2"
    front: ClassVar[Front | None] = replace(GAMMA, landmarks={1.0: EVERYTHING_SHARED, math.inf: NO_COMMUNICATION})
    style: ClassVar[int | None] = 0
    microseconds_per_step: ClassVar[float] = 6.0
    compile_seconds: ClassVar[int | None] = 8
    gamma: Threshold | None = None
    gamma_upload: Threshold | None = None
    gamma_download: Threshold | None = None
    alpha: Alpha = 0.3
    ridge: float = 0.2
    sigma: float = 0.1
    delta: float = 0.1

    def __post_init__(self) -> None:
        check.normalise_thresholds(self)
        check.normalise_confidence(self)

    @classmethod
    def examples(cls) -> Iterable["AsyncLinUCB"]:
        """Return both extremes, thresholds in between, and different thresholds for uploads and downloads."""
        yield from (AsyncLinUCB(gamma=gamma) for gamma in (1, 1.01, 2, 30, math.inf))
        yield AsyncLinUCB(gamma_upload=1.2, gamma_download=4, alpha="theory", ridge=0.1)
        yield AsyncLinUCB(gamma_upload=3, gamma_download=1, alpha=1.0, ridge=1.0)

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
    style: ClassVar[int | None] = 4
    microseconds_per_step: ClassVar[float] = 9.0
    compile_seconds: ClassVar[int | None] = 8
    stale_models: bool = False
    first_maximum: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("stale_models", "first_maximum"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"{name} must be true or false, got {getattr(self, name)!r}")

    @classmethod
    def examples(cls) -> Iterable["AsyncLinUCBAsPublished"]:
        """Return one method per peculiarity."""
        yield AsyncLinUCBAsPublished(gamma=1.5, stale_models=True)
        yield AsyncLinUCBAsPublished(gamma=1.5, first_maximum=True)

    def limits(self) -> Limits:
        """Return no limits: the speed of a method that only a study uses does not matter."""
        return Limits()
