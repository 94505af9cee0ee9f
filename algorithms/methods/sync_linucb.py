"""Sync-LinUCB, Algorithm 4; DisLinUCB; and LinUCB with one model for all clients, to which both come close."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

from algorithms import hyperparameters as check
from algorithms.hyperparameters import Alpha
from algorithms.method import THRESHOLD, About, BuiltInMethod, FederatedMethod, Front, Kind, Limits, Role

Clock = Literal["own", "rounds"]
Charge = Literal["known", "all"]


@dataclass(frozen=True, kw_only=True)
class Synchronising(FederatedMethod, abstract=True):
    """What both methods share that synchronise all known clients at once; each has a field or constant `clock`."""

    front: ClassVar[Front | None] = THRESHOLD
    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = {"with welcome (ours)": {"welcome": True}}
    kernel: ClassVar[str] = "sync-linucb"
    threshold: float
    alpha: Alpha = 0.3
    ridge: float = 0.2
    sigma: float = 0.1
    delta: float = 0.1

    def __post_init__(self) -> None:
        check.assign(self, threshold=check.real("threshold", self.threshold, 0, math.inf, "a number from 0 to inf"))
        check.normalise_confidence(self)

    def limits(self) -> Limits:
        """Return the limits that `make bench` checks."""
        return Limits(floor_multiple=0.9, growth=1.5)


@dataclass(frozen=True, kw_only=True)
class SyncLinUCB(Synchronising):
    """Whenever one client has waited long enough, all known clients synchronise.

    `threshold` is D; `alpha`, `ridge`, `sigma`, `delta` and `welcome` are as in Async-LinUCB. `clock`: whether a
    client's waiting time counts its own steps, or all rounds divided by the number of known clients. `charge`: whether
    a synchronisation counts the transfers of known clients, or as in the paper's appendix of all clients of the
    stream. `patience`: how many seconds a server waits for answers to its poll; no effect without a network.
    """

    name: ClassVar[str] = "sync-linucb"
    label: ClassVar[str] = "Sync-LinUCB"
    reference: ClassVar[str] = "the paper, Algorithm 4"
    about: ClassVar[About | None] = About(
        idea="Each client chooses with one model for all. When one client has waited long and learnt much, all known "
        "clients upload what they have and download the sum.",
        formula="choose: argmax xᵀθ̂(V_i, b_i) + α·w(x, V_i)\n"
        "synchronise if Δt·log(det V_i(λ) / det (V_i − ΔV_i)(λ)) > D, with Δt the client's steps since the last time",
        sends="{ΔV, Δb} up, also of clients without new data; {V_g, b_g} down",
        deviations=("ΔV is added to the server before it is reset; the published pseudo-code resets it first.",),
    )
    style: ClassVar[int | None] = 2
    kind: ClassVar[Kind | None] = "one model"
    is_usual: ClassVar[bool] = True
    microseconds_per_step: ClassVar[float] = 6.0
    added: ClassVar = {"clock": "own", "charge": "known", "patience": math.inf, "welcome": False}
    compile_seconds: ClassVar[int | None] = 3
    clock: Clock = "own"
    charge: Charge = "known"
    patience: float = math.inf
    welcome: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check.assign(self, patience=check.real("patience", self.patience, 0, math.inf, "seconds, from 0 to inf"))
        check.one_of("clock", self.clock, get_args(Clock))
        check.one_of("charge", self.charge, get_args(Charge))
        check.true_or_false("welcome", self.welcome)

    @classmethod
    def examples(cls) -> Iterable["SyncLinUCB"]:
        """Return both extremes and thresholds in between."""
        yield from (SyncLinUCB(threshold=threshold) for threshold in (0, 0.05, 2, math.inf))
        yield SyncLinUCB(threshold=0.5, alpha="theory", ridge=0.1)
        yield SyncLinUCB(threshold=0.5, clock="rounds", charge="all")
        yield SyncLinUCB(threshold=2, welcome=True)


@dataclass(frozen=True, kw_only=True)
class DisLinUCB(Synchronising):
    """Sync-LinUCB with one clock for all clients: the steps since the last synchronisation per known client.

    `threshold` is D; `alpha`, `ridge`, `sigma`, `delta` and `welcome` are as in Async-LinUCB.
    """

    name: ClassVar[str] = "dis-linucb"
    label: ClassVar[str] = "DisLinUCB"
    reference: ClassVar[str] = "Wang, Hu, Chen, Wang, ICLR 2020"
    about: ClassVar[About | None] = About(
        idea="As Sync-LinUCB, with one clock for all clients: a client's waiting time is the number of rounds since "
        "the last synchronisation, per known client. It is the most used baseline of this literature.",
        formula="choose: argmax xᵀθ̂(V_i, b_i) + α·w(x, V_i)\n"
        "synchronise if (rounds since the last time / known clients)·log(det V_i(λ) / det (V_i − ΔV_i)(λ)) > D",
        sends="{ΔV, Δb} up, also of clients without new data; {V_g, b_g} down",
        deviations=(
            "Published for clients that all act in every round; here a round is a step of the stream, so the rounds "
            "are divided by the number of known clients.",
        ),
    )
    style: ClassVar[int | None] = 5
    kind: ClassVar[Kind | None] = "one model"
    microseconds_per_step: ClassVar[float] = 6.0
    compile_seconds: ClassVar[int | None] = 3
    clock: ClassVar[Clock] = "rounds"
    welcome: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check.true_or_false("welcome", self.welcome)

    @classmethod
    def examples(cls) -> Iterable["DisLinUCB"]:
        """Return both extremes, thresholds in between, and with welcome."""
        yield from (DisLinUCB(threshold=threshold) for threshold in (0, 0.05, 2, math.inf))
        yield DisLinUCB(threshold=0.5, alpha="theory", ridge=0.1)
        yield DisLinUCB(threshold=2, welcome=True)


@dataclass(frozen=True, kw_only=True)
class CentralisedLinUCB(BuiltInMethod):
    """One LinUCB for all steps, as if all clients were one; no transfers are charged.

    Its hyper-parameters are as in Async-LinUCB: `alpha` (α), `ridge` (λ), `sigma` (σ) and `delta` (δ).
    """

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

    @classmethod
    def examples(cls) -> Iterable["CentralisedLinUCB"]:
        """Return a fixed α, and that of the theory."""
        yield CentralisedLinUCB()
        yield CentralisedLinUCB(alpha="theory", ridge=0.1)
