"""MostSeen: the item that was offered most often; it shows what the pools reveal without any reward."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from algorithms.method import Method, Role
from algorithms.stream import Stream

if TYPE_CHECKING:
    from algorithms.kernels.most_seen import MostSeenRun
    from algorithms.literal.most_seen import LiteralMostSeen


@dataclass(frozen=True, kw_only=True)
class MostSeen(Method):
    """Choose the item that was offered most often in earlier pools, to any client; no reward is used."""

    name: ClassVar[str] = "most-seen"
    label: ClassVar[str] = "Most seen"
    reference: ClassVar[str] = "ours"
    role: ClassVar[Role] = "reference"
    style: ClassVar[int | None] = 8
    microseconds_per_step: ClassVar[float] = 1.0
    compile_seconds: ClassVar[int | None] = 2

    def start(self, stream: Stream, seed: int) -> "MostSeenRun":
        """Prepare a run over a stream."""
        from algorithms.kernels.most_seen import MostSeenRun

        return MostSeenRun(stream, seed)

    def literal(self) -> "LiteralMostSeen":
        """Return the same method in plain Python."""
        from algorithms.literal.most_seen import LiteralMostSeen

        return LiteralMostSeen()

    @classmethod
    def examples(cls) -> Iterable["MostSeen"]:
        """Return the only configuration."""
        yield MostSeen()
