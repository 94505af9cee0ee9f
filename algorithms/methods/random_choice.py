"""RandomChoice: a uniformly random arm; the baseline for normalised reward."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from algorithms.method import Method, Role
from algorithms.stream import Stream

if TYPE_CHECKING:
    from algorithms.kernels.random_choice import RandomChoiceRun
    from algorithms.literal.random_choice import LiteralRandomChoice


@dataclass(frozen=True, kw_only=True)
class RandomChoice(Method):
    """Choose uniformly at random; learn and send nothing."""

    name: ClassVar[str] = "random"
    label: ClassVar[str] = "Random choice"
    reference: ClassVar[str] = "the paper, normalised reward"
    role: ClassVar[Role] = "baseline"
    style: ClassVar[int | None] = 23
    microseconds_per_step: ClassVar[float] = 0.1
    compile_seconds: ClassVar[int | None] = 1

    def start(self, stream: Stream, seed: int) -> "RandomChoiceRun":
        """Prepare a run over a stream."""
        from algorithms.kernels.random_choice import RandomChoiceRun

        return RandomChoiceRun(stream, seed)

    def literal(self) -> "LiteralRandomChoice":
        """Return the same method in plain Python."""
        from algorithms.literal.random_choice import LiteralRandomChoice

        return LiteralRandomChoice()

    @classmethod
    def examples(cls) -> Iterable["RandomChoice"]:
        """Return the only configuration."""
        yield RandomChoice()
