"""NeverOffered: an item new to this client, then the most seen; it shows what repeated negatives reveal."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from algorithms.method import Method, Role
from algorithms.stream import Stream

if TYPE_CHECKING:
    from algorithms.kernels.never_offered import NeverOfferedRun
    from algorithms.literal.never_offered import LiteralNeverOffered


@dataclass(frozen=True, kw_only=True)
class NeverOffered(Method):
    """Among the items never offered to this client before, choose the one offered most often to all clients.

    If every item of the pool was offered to this client before, choose the one offered most often among them. No
    reward is used.
    """

    name: ClassVar[str] = "never-offered"
    label: ClassVar[str] = "Never offered before, then most seen"
    reference: ClassVar[str] = "ours"
    role: ClassVar[Role] = "reference"
    style: ClassVar[int | None] = 9
    microseconds_per_step: ClassVar[float] = 1.0
    compile_seconds: ClassVar[int | None] = 2

    def start(self, stream: Stream, seed: int) -> "NeverOfferedRun":
        """Prepare a run over a stream."""
        from algorithms.kernels.never_offered import NeverOfferedRun

        return NeverOfferedRun(stream, seed)

    def literal(self) -> "LiteralNeverOffered":
        """Return the same method in plain Python."""
        from algorithms.literal.never_offered import LiteralNeverOffered

        return LiteralNeverOffered()

    @classmethod
    def examples(cls) -> Iterable["NeverOffered"]:
        """Return the only configuration."""
        yield NeverOffered()
