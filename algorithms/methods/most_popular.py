"""MostPopular: the item that was rewarded most in all earlier pools; it shows what popularity alone earns."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from algorithms.method import Method, Role
from algorithms.stream import Stream

if TYPE_CHECKING:
    from algorithms.kernels.most_popular import MostPopularRun
    from algorithms.literal.most_popular import LiteralMostPopular


@dataclass(frozen=True, kw_only=True)
class MostPopular(Method):
    """Choose the item with the largest sum of expected rewards in earlier pools, chosen or not.

    On recorded data that is the number of earlier events in which the item was the one the user took. With
    `per_client`, only the earlier pools of the same client count.
    """

    name: ClassVar[str] = "most-popular"
    label: ClassVar[str] = "Most popular so far"
    reference: ClassVar[str] = "ours"
    role: ClassVar[Role] = "reference"
    style: ClassVar[int | None] = 6
    microseconds_per_step: ClassVar[float] = 1.0
    compile_seconds: ClassVar[int | None] = 2
    per_client: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.per_client, bool):
            raise ValueError(f"per_client must be true or false, got {self.per_client!r}")

    def start(self, stream: Stream, seed: int) -> "MostPopularRun":
        """Prepare a run over a stream."""
        from algorithms.kernels.most_popular import MostPopularRun

        return MostPopularRun(self, stream, seed)

    def literal(self) -> "LiteralMostPopular":
        """Return the same method in plain Python."""
        from algorithms.literal.most_popular import LiteralMostPopular

        return LiteralMostPopular(self.per_client)

    @classmethod
    def examples(cls) -> Iterable["MostPopular"]:
        """Return one with counts shared by all clients, and one with counts per client."""
        yield MostPopular()
        yield MostPopular(per_client=True)
