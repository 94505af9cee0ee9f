"""Async-LinUCB, Algorithm 2: LinUCB on the event-triggered protocol of Algorithm 1."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from algorithms import hyperparameters as check
from algorithms.hyperparameters import Alpha, Threshold
from algorithms.method import EVERYTHING_SHARED, GAMMA, NO_COMMUNICATION, Front, Limits, Method
from algorithms.stream import Stream

if TYPE_CHECKING:
    from algorithms.kernels.async_linucb import AsyncLinUCBRun
    from algorithms.literal.async_linucb import LiteralAsyncLinUCB


@dataclass(frozen=True, kw_only=True)
class AsyncLinUCB(Method):
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

    def start(self, stream: Stream, seed: int) -> "AsyncLinUCBRun":
        """Prepare a run over a stream."""
        from algorithms.kernels.async_linucb import AsyncLinUCBRun

        return AsyncLinUCBRun(self, stream, seed)

    def literal(self) -> "LiteralAsyncLinUCB[Any]":
        """Return Algorithm 2 line by line."""
        from algorithms.literal.async_linucb import LiteralAsyncLinUCB

        return LiteralAsyncLinUCB(self)

    @classmethod
    def examples(cls) -> Iterable["AsyncLinUCB"]:
        """Return both extremes, thresholds in between, and different thresholds for uploads and downloads."""
        yield from (AsyncLinUCB(gamma=gamma) for gamma in (1, 1.01, 2, 30, math.inf))
        yield AsyncLinUCB(gamma_upload=1.2, gamma_download=4, alpha="theory", ridge=0.1)
        yield AsyncLinUCB(gamma_upload=3, gamma_download=1, alpha=1.0, ridge=1.0)

    def limits(self) -> Limits:
        """Return the limits that `make bench` checks."""
        return Limits(floor_multiple=0.9, growth=1.3, memory=6.0)
