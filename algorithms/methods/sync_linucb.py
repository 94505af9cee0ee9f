"""Sync-LinUCB, Algorithm 4; and LinUCB with one model for all clients, to which it comes close."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from algorithms import hyperparameters as check
from algorithms.hyperparameters import Alpha
from algorithms.method import THRESHOLD, BuiltInMethod, Front, Limits, Role


@dataclass(frozen=True, kw_only=True)
class SyncLinUCB(BuiltInMethod):
    """Whenever one client has waited long enough, all known clients synchronise.

    `threshold` is D, the other hyper-parameters are as in Async-LinUCB.
    """

    name: ClassVar[str] = "sync-linucb"
    label: ClassVar[str] = "Sync-LinUCB"
    reference: ClassVar[str] = "the paper, Algorithm 4"
    front: ClassVar[Front | None] = THRESHOLD
    style: ClassVar[int | None] = 2
    microseconds_per_step: ClassVar[float] = 6.0
    compile_seconds: ClassVar[int | None] = 3
    threshold: float
    alpha: Alpha = 0.3
    ridge: float = 0.2
    sigma: float = 0.1
    delta: float = 0.1

    def __post_init__(self) -> None:
        threshold = check.real("threshold", self.threshold, 0, math.inf, "a number from 0 to inf")
        object.__setattr__(self, "threshold", threshold)
        check.normalise_confidence(self)

    @classmethod
    def examples(cls) -> Iterable["SyncLinUCB"]:
        """Return both extremes and thresholds in between."""
        yield from (SyncLinUCB(threshold=threshold) for threshold in (0, 0.05, 2, math.inf))
        yield SyncLinUCB(threshold=0.5, alpha="theory", ridge=0.1)

    def limits(self) -> Limits:
        """Return the limits that `make bench` checks."""
        return Limits(floor_multiple=0.9)


@dataclass(frozen=True, kw_only=True)
class CentralisedLinUCB(BuiltInMethod):
    """One LinUCB for all steps, as if all clients were one; no transfers are charged.

    Its hyper-parameters are as in Async-LinUCB: `alpha` (α), `ridge` (λ), `sigma` (σ) and `delta` (δ).
    """

    name: ClassVar[str] = "centralised-linucb"
    label: ClassVar[str] = "Centralised LinUCB"
    reference: ClassVar[str] = "Abbasi-Yadkori et al., 2011"
    role: ClassVar[Role] = "reference"
    style: ClassVar[int | None] = 12
    microseconds_per_step: ClassVar[float] = 6.0
    compile_seconds: ClassVar[int | None] = 5
    alpha: Alpha = 0.3
    ridge: float = 0.2
    sigma: float = 0.1
    delta: float = 0.1

    def __post_init__(self) -> None:
        check.normalise_confidence(self)

    @classmethod
    def examples(cls) -> Iterable["CentralisedLinUCB"]:
        """Return a fixed α, and that of the theory."""
        yield CentralisedLinUCB()
        yield CentralisedLinUCB(alpha="theory", ridge=0.1)
