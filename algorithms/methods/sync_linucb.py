"""Sync-LinUCB, Algorithm 4: whenever one client has waited long enough, all known clients synchronise."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from algorithms import hyperparameters as check
from algorithms.hyperparameters import Alpha
from algorithms.method import THRESHOLD, Front, Limits, Method
from algorithms.stream import Stream

if TYPE_CHECKING:
    from algorithms.kernels.sync_linucb import SyncLinUCBRun
    from algorithms.literal.sync_linucb import LiteralSyncLinUCB


@dataclass(frozen=True, kw_only=True)
class SyncLinUCB(Method):
    """Hyper-parameters of Sync-LinUCB: `threshold` is D, the others are as in Async-LinUCB."""

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

    def start(self, stream: Stream, seed: int) -> "SyncLinUCBRun":
        """Prepare a run over a stream."""
        from algorithms.kernels.sync_linucb import SyncLinUCBRun

        return SyncLinUCBRun(self, stream, seed)

    def literal(self) -> "LiteralSyncLinUCB":
        """Return Algorithm 4 line by line."""
        from algorithms.literal.sync_linucb import LiteralSyncLinUCB

        return LiteralSyncLinUCB(self)

    @classmethod
    def examples(cls) -> Iterable["SyncLinUCB"]:
        """Return both extremes and thresholds in between."""
        yield from (SyncLinUCB(threshold=threshold) for threshold in (0, 0.05, 2, math.inf))
        yield SyncLinUCB(threshold=0.5, alpha="theory", ridge=0.1)

    def limits(self) -> Limits:
        """Return the limits that `make bench` checks."""
        return Limits(floor_multiple=0.9)
