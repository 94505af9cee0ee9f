"""Rules: methods that give every item a score without a model of the clients; nothing is sent.

A rule is a class here, a branch of the kernel in `kernels/rules.py` where its scores or tables differ from those of the
others, and a class `Literal…` in `literal/rules.py`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from algorithms import hyperparameters as check
from algorithms.method import BuiltInMethod, Role
from algorithms.stream import Stream, StreamOutline

if TYPE_CHECKING:
    from algorithms.kernels.rules import RuleRun

RANDOM, FIXED, MOST_POPULAR, MOST_SEEN, NEVER_OFFERED, ITEM_REWARDS, ROCCHIO = range(7)
"""The rules of the kernel."""

PRIOR_WEIGHT = 5.0
"""A share of likes is that of the held-out users of an item and of this many average ones."""

OTHER_FEATURES = 2
"""Of the features of a pair: after the products of profile and factors come a constant and the popularity."""

NO_HELD_OUT_USERS = "it has no users who do not play"

COSINE_FACTOR = 5.0**0.5 / 2.0
"""The sum of these products, 2·p∘q/√5, times this is p·q."""


class Rule(BuiltInMethod, abstract=True):
    """A reference without a model; `rule` is its number in the kernel.

    `shows` says in words what a rule shows that can be deployed as it is; it is empty for rules that exploit how the
    pools are drawn, or that need what only the benchmark knows.
    """

    reference: ClassVar[str] = "ours"
    role: ClassVar[Role] = "reference"
    tuned: ClassVar = ()
    microseconds_per_step: ClassVar[float] = 1.0
    compile_seconds: ClassVar[int | None] = 2
    kernel: ClassVar[str] = "rules"
    rule: ClassVar[int]
    shows: ClassVar[str] = ""

    def start(self, stream: Stream, seed: int) -> "RuleRun":
        """Prepare a run over a stream; raise ValueError with one line if the rule makes no sense on it."""
        if reason := self.skip(StreamOutline.of(stream)):
            raise ValueError(f"{self.name} cannot be run on {stream.name}: {reason}")
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
    microseconds_per_step: ClassVar[float] = 0.1
    rule: ClassVar[int] = RANDOM


@dataclass(frozen=True, kw_only=True)
class MostPopular(Rule):
    """Choose the item with the largest sum of expected rewards in earlier pools, chosen or not.

    It shows what popularity alone earns: on recorded data that is the number of earlier events in which the item was
    the one the user took. With `per_client`, only the earlier pools of the same client count.
    """

    name: ClassVar[str] = "most-popular"
    label: ClassVar[str] = "Most popular so far"
    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = {"taken by this client": {"per_client": True}}
    style: ClassVar[int | None] = 6
    rule: ClassVar[int] = MOST_POPULAR
    per_client: bool = False

    @property
    def shows(self) -> str:  # type: ignore[override]
        """Bestsellers, or the items that a client took most often."""
        return "what each client took before" if self.per_client else "bestsellers"

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


@dataclass(frozen=True, kw_only=True)
class Rocchio(Rule):
    """Choose the item with the largest xᵀ Σ x·y, where the sum is over the client's own earlier choices.

    x are the features of a choice and y is its observed reward: the client's rewarded items, without a parameter.
    """

    name: ClassVar[str] = "rocchio"
    label: ClassVar[str] = "Rocchio, own rewarded items"
    reference: ClassVar[str] = "Rocchio 1971"
    style: ClassVar[int | None] = 22
    rule: ClassVar[int] = ROCCHIO
    shows: ClassVar[str] = "items like those that each client took before"


@dataclass(frozen=True, kw_only=True)
class HeldOutPopularity(Rule):
    """Choose the item with the most users among those who do not play: popularity that is known before the start."""

    name: ClassVar[str] = "held-out-popularity"
    label: ClassVar[str] = "Popularity among held-out users"
    style: ClassVar[int | None] = 21
    rule: ClassVar[int] = FIXED

    def skip(self, stream: StreamOutline) -> str | None:
        """It needs users who do not play."""
        return None if stream.has_held_out_users else NO_HELD_OUT_USERS


@dataclass(frozen=True, kw_only=True)
class HeldOutLikes(Rule):
    """Choose the item with the largest share of likes among users who do not play: (likes + 5·mean) / (users + 5).

    The mean is the share of likes among all their ratings.
    """

    name: ClassVar[str] = "held-out-likes"
    label: ClassVar[str] = "Share of likes among held-out users"
    style: ClassVar[int | None] = 20
    rule: ClassVar[int] = FIXED

    def skip(self, stream: StreamOutline) -> str | None:
        """It needs users who do not play, and their ratings."""
        if not stream.has_held_out_users:
            return NO_HELD_OUT_USERS
        return None if stream.has_held_out_likes else "its data have no ratings"


@dataclass(frozen=True, kw_only=True)
class CosinePopularity(Rule):
    """Choose the item with the largest p·q + log(1+n) / max log(1+n): like the client's first items, and popular.

    p is the client's profile, q are the factors of the item and n is the number of its users among those who do not
    play; the features of pairs of a client and an item are made of them.
    """

    name: ClassVar[str] = "cosine-popularity"
    label: ClassVar[str] = "Cosine + popularity"
    style: ClassVar[int | None] = 19
    rule: ClassVar[int] = FIXED

    def skip(self, stream: StreamOutline) -> str | None:
        """It needs features of pairs of a client and an item."""
        return None if stream.has_profiles else "its features are not made of the clients' profiles"
