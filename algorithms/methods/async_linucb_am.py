"""Async-LinUCB-AM, Algorithm 3, and its warm start, Algorithm 5."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

from algorithms import hyperparameters as check
from algorithms.hyperparameters import Alpha, Threshold
from algorithms.method import GAMMA, About, FederatedMethod, Front, Kind, Limits

Order = Literal["global", "local"]
Width = Literal["lemma", "noise"]


@dataclass(frozen=True, kw_only=True)
class AsyncLinUCBAM(FederatedMethod):
    """Hyper-parameters of Async-LinUCB-AM, in addition to those of Async-LinUCB.

    `global_dim` is d_g: the first d_g features are global, the others local; with `None` all features are both.
    `warm_start` selects Algorithm 5. `am_iterations` bounds the alternating minimisation of one step. `order` is the
    part whose step goes first in it: a client without received data explains its first observations by that part
    alone, so "local", the order in which Eq. 7 lists the steps, uploads b = 0. `width` matters for α = "theory" only:
    the lemma of section 3.4 has σ + 2, the authors' program σ alone ("noise").
    """

    name: ClassVar[str] = "async-linucb-am"
    label: ClassVar[str] = "Async-LinUCB-AM"
    reference: ClassVar[str] = "the paper, Algorithms 3 and 5"
    about: ClassVar[About | None] = About(
        idea="A reward is the sum of a global part, which all clients share, and a local part of each client. "
        "Alternating minimisation splits each observed reward into both; only the global part is exchanged, as in "
        "Async-LinUCB.",
        formula="choose: argmax of the upper bound of the global part + that of the local part\n"
        "learn: repeat ŷ_l = y − x_gᵀθ_g, ŷ_g = y − x_lᵀθ_l until they no longer move\n"
        "upload and download by the tests of Async-LinUCB, with the global features and ŷ_g",
        sends="{ΔV, Δb} of the global features, up and down",
        deviations=(
            "The global step comes first by default (`order`): with the local one first, b is 0 in the uploads "
            "of a client without received data.",
        ),
    )
    front: ClassVar[Front | None] = GAMMA
    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = {"with welcome (ours)": {"welcome": True}}
    style: ClassVar[int | None] = 1
    kind: ClassVar[Kind | None] = "personal"
    is_usual: ClassVar[bool] = True
    version: ClassVar[int] = 2
    changes: ClassVar = {2: "order corrected"}
    added: ClassVar = {"welcome": False}
    microseconds_per_step: ClassVar[float] = 18.0
    compile_seconds: ClassVar[int | None] = 15
    kernel_settings: ClassVar[tuple[str, ...]] = ("warm_start",)
    measured: ClassVar = {"order": get_args(Order)}
    gamma: Threshold | None = None
    gamma_upload: Threshold | None = None
    gamma_download: Threshold | None = None
    global_dim: int | None = None
    warm_start: bool = False
    am_iterations: int = 100
    order: Order = "global"
    width: Width = "lemma"
    alpha: Alpha = 0.3
    ridge: float = 0.2
    sigma: float = 0.1
    delta: float = 0.1
    welcome: bool = False

    def __post_init__(self) -> None:
        check.normalise_thresholds(self)
        check.normalise_confidence(self)
        if self.global_dim is not None:
            object.__setattr__(self, "global_dim", check.integer("global_dim", self.global_dim, 1))
        check.true_or_false("warm_start", self.warm_start)
        check.true_or_false("welcome", self.welcome)
        object.__setattr__(self, "am_iterations", check.integer("am_iterations", self.am_iterations, 1))
        check.one_of("order", self.order, get_args(Order))
        check.one_of("width", self.width, get_args(Width))

    @property
    def extra_sigma(self) -> float:
        """What `width` adds to σ."""
        return 2.0 if self.width == "lemma" else 0.0

    def feature_slices(self, dimension: int) -> tuple[slice, slice]:
        """Return the positions of the global and of the local features in x."""
        if self.global_dim is None:
            return slice(0, dimension), slice(0, dimension)
        check.integer("global_dim", self.global_dim, 1, dimension)
        return slice(0, self.global_dim), slice(self.global_dim, dimension)

    @classmethod
    def examples(cls) -> Iterable["AsyncLinUCBAM"]:
        """Return in both orders: the extremes, a global dimension, both widths, the warm start with and without one."""
        orders: tuple[Order, ...] = get_args(Order)
        for order in orders:
            yield from (AsyncLinUCBAM(gamma=gamma, order=order) for gamma in (1, 1.5, math.inf))
            yield AsyncLinUCBAM(gamma=2, global_dim=2, alpha="theory", ridge=0.1, order=order)
            yield AsyncLinUCBAM(gamma=2, global_dim=2, alpha="theory", ridge=0.1, order=order, width="noise")
            yield AsyncLinUCBAM(gamma_upload=1.1, gamma_download=3, global_dim=2, warm_start=True, order=order)
            yield AsyncLinUCBAM(gamma=1.5, warm_start=True, order=order)
        yield from (AsyncLinUCBAM(gamma=1.5, warm_start=warm_start, welcome=True) for warm_start in (False, True))

    def limits(self) -> Limits:
        """Return the limits that `make bench` checks."""
        if self.warm_start:
            return Limits(floor_multiple=2.5, growth=1.5, memory=8.0)
        return Limits(floor_multiple=2.3, median_multiple=2.1, growth=1.5, memory=8.0)
