"""Async-LinUCB with two peculiarities of the published script, to measure their effect.

Not a method of the paper: each peculiarity departs from Algorithm 2 and has its own study in `benchmark/experiments`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from algorithms.method import Limits, Role
from algorithms.methods.async_linucb import AsyncLinUCB
from algorithms.stream import Stream

if TYPE_CHECKING:
    from algorithms.kernels.async_linucb_as_published import AsPublishedRun
    from algorithms.literal.async_linucb_as_published import LiteralAsPublished


@dataclass(frozen=True, kw_only=True)
class AsyncLinUCBAsPublished(AsyncLinUCB):
    """Hyper-parameters of Async-LinUCB, and the two peculiarities.

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

    def start(self, stream: Stream, seed: int) -> "AsPublishedRun":
        """Prepare a run over a stream."""
        from algorithms.kernels.async_linucb_as_published import AsPublishedRun

        return AsPublishedRun(self, stream, seed)

    def literal(self) -> "LiteralAsPublished":
        """Return Algorithm 2 line by line, with the peculiarities."""
        from algorithms.literal.async_linucb_as_published import LiteralAsPublished

        return LiteralAsPublished(self)

    @classmethod
    def examples(cls) -> Iterable["AsyncLinUCBAsPublished"]:
        """Return one method per peculiarity."""
        yield AsyncLinUCBAsPublished(gamma=1.5, stale_models=True)
        yield AsyncLinUCBAsPublished(gamma=1.5, first_maximum=True)

    def limits(self) -> Limits:
        """Return no limits: the speed of a method that only a study uses does not matter."""
        return Limits()
