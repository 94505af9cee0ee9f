"""Rules: methods that give every item a score without a model of the clients; nothing is sent.

A rule is a class here, a branch of the kernel in `kernels/rules.py` where its scores or tables differ from those of the
others, and a class `Literal…` in `literal/rules.py`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from algorithms import hyperparameters as check
from algorithms.method import BuiltInMethod, Role
from algorithms.stream import Stream

if TYPE_CHECKING:
    from algorithms.kernels.rules import RuleRun

FIXED, MOST_POPULAR, MOST_SEEN, NEVER_OFFERED, ITEM_REWARDS = range(5)
"""The rules of the kernel."""


class Rule(BuiltInMethod, abstract=True):
    """A reference without a model; `rule` is its number in the kernel."""

    reference: ClassVar[str] = "ours"
    role: ClassVar[Role] = "reference"
    tuned: ClassVar = ()
    microseconds_per_step: ClassVar[float] = 1.0
    compile_seconds: ClassVar[int | None] = 2
    kernel: ClassVar[str] = "rules"
    rule: ClassVar[int]

    def start(self, stream: Stream, seed: int) -> "RuleRun":
        """Prepare a run over a stream."""
        from algorithms.kernels.rules import RuleRun

        return RuleRun(self, stream, seed)

    @classmethod
    def examples(cls) -> Iterable[Self]:
        """Return the only configuration."""
        yield cls()


@dataclass(frozen=True, kw_only=True)
class RandomChoice(Rule):
    """Choose uniformly at random, the baseline for normalised reward: all items have the same score."""

    name: ClassVar[str] = "random"
    label: ClassVar[str] = "Random choice"
    reference: ClassVar[str] = "the paper, normalised reward"
    role: ClassVar[Role] = "baseline"
    style: ClassVar[int | None] = 23
    microseconds_per_step: ClassVar[float] = 0.2
    rule: ClassVar[int] = FIXED


@dataclass(frozen=True, kw_only=True)
class MostPopular(Rule):
    """Choose the item with the largest sum of expected rewards in earlier pools, chosen or not.

    It shows what popularity alone earns: on recorded data that is the number of earlier events in which the item was
    the one the user took. With `per_client`, only the earlier pools of the same client count.
    """

    name: ClassVar[str] = "most-popular"
    label: ClassVar[str] = "Most popular so far"
    style: ClassVar[int | None] = 6
    rule: ClassVar[int] = MOST_POPULAR
    per_client: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.per_client, bool):
            raise ValueError(f"per_client must be true or false, got {self.per_client!r}")

    @classmethod
    def examples(cls) -> Iterable[Self]:
        """Return one with counts shared by all clients, and one with counts per client."""
        yield cls()
        yield cls(per_client=True)


@dataclass(frozen=True, kw_only=True)
class MostSeen(Rule):
    """Choose the item that was offered most often in earlier pools, to any client.

    No reward is used: it shows what the pools reveal without any.
    """

    name: ClassVar[str] = "most-seen"
    label: ClassVar[str] = "Most seen"
    style: ClassVar[int | None] = 8
    rule: ClassVar[int] = MOST_SEEN


@dataclass(frozen=True, kw_only=True)
class NeverOffered(Rule):
    """Among the items never offered to this client before, choose the one offered most often to all clients.

    If every item of the pool was offered to this client before, choose the one offered most often among them. No
    reward is used: it shows what repeated negatives reveal.
    """

    name: ClassVar[str] = "never-offered"
    label: ClassVar[str] = "Never offered before, then most seen"
    style: ClassVar[int | None] = 9
    rule: ClassVar[int] = NEVER_OFFERED
    per_client: ClassVar[bool] = True


@dataclass(frozen=True, kw_only=True)
class ItemRewards(Rule):
    """Choose the item with the largest mean of its own rewards: their sum / (the number of times it was chosen + 1).

    One table for all clients, indexed by item: it uses neither features nor users, and only rewards that it observed.
    """

    name: ClassVar[str] = "item-rewards"
    label: ClassVar[str] = "Own rewards by item"
    style: ClassVar[int | None] = 10
    rule: ClassVar[int] = ITEM_REWARDS


@dataclass(frozen=True, kw_only=True)
class HindsightLinear(Rule):
    """Choose the item with the largest xᵀθ, where θ is fitted to the whole stream before the first step.

    θ = (Σ x xᵀ + λI)⁻¹ Σ x r over all arms of all pools, where r is the expected reward: one model for all clients,
    about the maximum that one linear model can earn. `ridge` is λ.
    """

    name: ClassVar[str] = "hindsight-linear"
    label: ClassVar[str] = "Best linear model in hindsight"
    style: ClassVar[int | None] = 11
    rule: ClassVar[int] = FIXED
    ridge: float = 0.2

    def __post_init__(self) -> None:
        object.__setattr__(self, "ridge", check.ridge(self.ridge))

    @classmethod
    def examples(cls) -> Iterable[Self]:
        """Return a small and a large λ."""
        yield cls()
        yield cls(ridge=20.0)
