"""ItemRewards: the item that earned most when it was chosen; a shared table without features and users."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from algorithms.method import Method, Role
from algorithms.stream import Stream

if TYPE_CHECKING:
    from algorithms.kernels.item_rewards import ItemRewardsRun
    from algorithms.literal.item_rewards import LiteralItemRewards


@dataclass(frozen=True, kw_only=True)
class ItemRewards(Method):
    """Choose the item with the largest mean of its own rewards: their sum / (the number of times it was chosen + 1).

    One table for all clients, indexed by item: it uses neither features nor users, and only rewards that it observed.
    """

    name: ClassVar[str] = "item-rewards"
    label: ClassVar[str] = "Own rewards by item"
    reference: ClassVar[str] = "ours"
    role: ClassVar[Role] = "reference"
    style: ClassVar[int | None] = 10
    microseconds_per_step: ClassVar[float] = 1.0
    compile_seconds: ClassVar[int | None] = 2

    def start(self, stream: Stream, seed: int) -> "ItemRewardsRun":
        """Prepare a run over a stream."""
        from algorithms.kernels.item_rewards import ItemRewardsRun

        return ItemRewardsRun(stream, seed)

    def literal(self) -> "LiteralItemRewards":
        """Return the same method in plain Python."""
        from algorithms.literal.item_rewards import LiteralItemRewards

        return LiteralItemRewards()

    @classmethod
    def examples(cls) -> Iterable["ItemRewards"]:
        """Return the only configuration."""
        yield ItemRewards()
