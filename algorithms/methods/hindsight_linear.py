"""HindsightLinear: ridge regression on all rewards of the stream; about the maximum that one linear model can earn."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from algorithms import hyperparameters as check
from algorithms.method import Method, Role
from algorithms.stream import Stream

if TYPE_CHECKING:
    from algorithms.kernels.hindsight_linear import HindsightLinearRun
    from algorithms.literal.hindsight_linear import LiteralHindsightLinear


@dataclass(frozen=True, kw_only=True)
class HindsightLinear(Method):
    """Choose the item with the largest xᵀθ, where θ is fitted to the whole stream before the first step.

    θ = (Σ x xᵀ + λI)⁻¹ Σ x r over all arms of all pools, where r is the expected reward: one model for all clients.
    `ridge` is λ.
    """

    name: ClassVar[str] = "hindsight-linear"
    label: ClassVar[str] = "Best linear model in hindsight"
    reference: ClassVar[str] = "ours"
    role: ClassVar[Role] = "reference"
    tuned: ClassVar = ()
    style: ClassVar[int | None] = 11
    microseconds_per_step: ClassVar[float] = 1.0
    compile_seconds: ClassVar[int | None] = 2
    ridge: float = 0.2

    def __post_init__(self) -> None:
        object.__setattr__(self, "ridge", check.ridge(self.ridge))

    def start(self, stream: Stream, seed: int) -> "HindsightLinearRun":
        """Prepare a run over a stream."""
        from algorithms.kernels.hindsight_linear import HindsightLinearRun

        return HindsightLinearRun(self, stream, seed)

    def literal(self) -> "LiteralHindsightLinear":
        """Return the same method in plain Python."""
        from algorithms.literal.hindsight_linear import LiteralHindsightLinear

        return LiteralHindsightLinear(self.ridge)

    @classmethod
    def examples(cls) -> Iterable["HindsightLinear"]:
        """Return a small and a large λ."""
        yield HindsightLinear()
        yield HindsightLinear(ridge=20.0)
