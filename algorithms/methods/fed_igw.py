"""FedIGW: choose at random, with probabilities by inverse gap weighting, and exchange at the ends of epochs."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

from algorithms import hyperparameters as check
from algorithms.method import About, FederatedMethod, Front, Kind, Limits

Rule = Literal["igw", "softmax", "epsilon"]
RULES: tuple[Rule, ...] = get_args(Rule)

LONGEST = Front(
    "longest",
    "ℓ",
    (math.inf, 16384.0, 8192.0, 4096.0, 2048.0, 1024.0, 512.0, 256.0, 64.0, 16.0, 4.0, 1.0),
)
"""The longest epoch, in steps of the stream."""


@dataclass(frozen=True, kw_only=True)
class FedIGW(FederatedMethod):
    """FedIGW with a linear model of all data so far (ours).

    Epoch l = 1, 2, … has min(2^l, `longest`) steps. After its last step, clients send their new statistics, and all
    known clients are sent the ridge estimate θ; `ridge` is λ. At each step, the probability of an arm falls with the
    gap between its estimated reward and the best one, the faster the larger `sharpness` (c) is. `rule`: "igw" is
    inverse gap weighting, "softmax" has probabilities proportional to exp(c · estimate), and "epsilon" takes any other
    arm than the best one with the same probability, 1 / (K · max(c, 1)).
    """

    name: ClassVar[str] = "fed-igw"
    label: ClassVar[str] = "FedIGW, linear (ours)"
    reference: ClassVar[str] = "Shi, Zhou, Yang and Shen, 2024; linear form ours"
    about: ClassVar[About | None] = About(
        idea="Clients choose at random, with a probability that falls with the gap to the best estimate, so they need "
        "no confidence bounds and download the estimate only. Data are exchanged at the ends of epochs, whose lengths "
        "double up to ℓ.",
        formula="g = c·√(K·n/d); p_k = 1 / (K + g·(ŷ_best − ŷ_k)) for all other arms, the best arm has the rest\n"
        'rule="softmax": p_k proportional to exp(c·ŷ_k); rule="epsilon": p_k = 1 / (K·max(c, 1))\n'
        "after an epoch of min(2^l, ℓ) steps: clients with new data upload, all known clients download θ",
        sends="{ΔV, Δb} up, θ (d numbers) down; a client that joins is sent θ at once",
        deviations=(
            "Published for general models, with the data of the last epoch; the linear model of all data so far is "
            "ours.",
            "The two other rules are those of Agarwal, McMahan and Xu, 2023.",
        ),
    )
    front: ClassVar[Front | None] = LONGEST
    tuning: ClassVar[Mapping[str, tuple[Any, ...]] | None] = {
        "sharpness": (10.0, 1e3, 1e5),
        "ridge": (0.01, 0.2, 4.0, 80.0),
    }
    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "with softmax": {"rule": "softmax"},
        "with epsilon-greedy": {"rule": "epsilon"},
    }
    style: ClassVar[int | None] = 18
    kind: ClassVar[Kind | None] = "one model"
    microseconds_per_step: ClassVar[float] = 4.0
    compile_seconds: ClassVar[int | None] = 4
    longest: float
    rule: Rule = "igw"
    sharpness: float = 100.0
    ridge: float = 0.2

    def __post_init__(self) -> None:
        check.one_of("rule", self.rule, RULES)
        longest = check.integer_or_inf("longest", self.longest, 1)
        sharpness, ridge = check.finite("sharpness", self.sharpness), check.ridge(self.ridge)
        check.assign(self, longest=longest, sharpness=sharpness, ridge=ridge)

    @classmethod
    def examples(cls) -> Iterable["FedIGW"]:
        """Return every rule, an exchange after every step, and epochs that keep growing."""
        yield from (FedIGW(longest=longest) for longest in (1, 16, math.inf))
        yield FedIGW(longest=5, rule="softmax", sharpness=10, ridge=1.0)
        yield FedIGW(longest=64, rule="epsilon", sharpness=5)

    def limits(self) -> Limits:
        """Return the limits that `make bench` checks."""
        return Limits(floor_multiple=3.0, growth=1.5)
