"""CentralisedLinUCB: one LinUCB for all steps, as if all clients were one; no transfers are charged."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from algorithms import hyperparameters as check
from algorithms.hyperparameters import Alpha
from algorithms.method import Method, Role
from algorithms.stream import Stream

if TYPE_CHECKING:
    from algorithms.kernels.centralised_linucb import CentralisedLinUCBRun
    from algorithms.literal.centralised_linucb import LiteralCentralisedLinUCB


@dataclass(frozen=True, kw_only=True)
class CentralisedLinUCB(Method):
    """Hyper-parameters of LinUCB, as in Async-LinUCB: `alpha` (α), `ridge` (λ), `sigma` (σ) and `delta` (δ)."""

    name: ClassVar[str] = "centralised-linucb"
    label: ClassVar[str] = "Centralised LinUCB"
    reference: ClassVar[str] = "Abbasi-Yadkori et al., 2011"
    role: ClassVar[Role] = "reference"
    style: ClassVar[int | None] = 12
    microseconds_per_step: ClassVar[float] = 6.0
    compile_seconds: ClassVar[int | None] = 5
    alpha: Alpha = 0.3
    ridge: float = 0.2
    sigma: float = 0.1
    delta: float = 0.1

    def __post_init__(self) -> None:
        check.normalise_confidence(self)

    def start(self, stream: Stream, seed: int) -> "CentralisedLinUCBRun":
        """Prepare a run over a stream."""
        from algorithms.kernels.centralised_linucb import CentralisedLinUCBRun

        return CentralisedLinUCBRun(self, stream, seed)

    def literal(self) -> "LiteralCentralisedLinUCB":
        """Return the same method in plain Python."""
        from algorithms.literal.centralised_linucb import LiteralCentralisedLinUCB

        return LiteralCentralisedLinUCB(self)

    @classmethod
    def examples(cls) -> Iterable["CentralisedLinUCB"]:
        """Return a fixed α, and that of the theory."""
        yield CentralisedLinUCB()
        yield CentralisedLinUCB(alpha="theory", ridge=0.1)
