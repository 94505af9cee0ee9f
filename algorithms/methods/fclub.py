"""FCLUB: clusters of clients with similar estimates, and Algorithm 1 inside each cluster."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from algorithms import hyperparameters as check
from algorithms.method import GAMMA, About, FederatedMethod, Front, Kind, Limits


@dataclass(frozen=True, kw_only=True)
class FCLUB(FederatedMethod):
    """Hyper-parameters of FCLUB-DC with one client per local server.

    Before steps 1, 3, 7, …, 2^s - 1, counted from 1, the server clusters the clients by their own estimates:
    `distance` scales how far apart the estimates of two neighbours may be; 0 separates all clients, inf joins them.
    Give `gamma` (γ), or `gamma_upload` (γ_U) and `gamma_download` (γ_D) where they differ, each a number from 1 to
    inf. The published tests use ≥, ours >. `alpha` is α and `ridge` λ.

    A phase compares all pairs of known clients, so its time grows with the square of their number.
    """

    name: ClassVar[str] = "fclub"
    label: ClassVar[str] = "FCLUB"
    reference: ClassVar[str] = "FCLUB-DC, Liu, Zhao, Yu, Li, Lui, UAI 2022; one client per local server"
    about: ClassVar[About | None] = About(
        idea="From time to time the server clusters the clients by the distance of their own estimates. The clients of "
        "a cluster share one model, exchanged by Algorithm 1.",
        formula="choose: argmax xᵀθ̂(S_i, u_i) + α·w(x, S_i), with S_i, u_i of the cluster; the buffer is not used\n"
        "before steps 1, 3, 7, …: i and j are neighbours if ‖θ̂_i − θ̂_j‖ < distance·(f(n_i) + f(n_j)),\n"
        "       f(n) = √((1 + log(1 + n)) / (1 + n)); clusters are the connected components",
        sends="{ΔV, Δb} up and {S, u} down inside a cluster; {V, b} of every client before a phase",
        deviations=(
            "Tests use > instead of ≥.",
            "One client per local server.",
            "`distance` is relative to the length of the estimates, which grows as λ falls. The default of 0.1 is for "
            "rewards of 0 and 1, where the published 2 joins nearly all clients.",
        ),
    )
    front: ClassVar[Front | None] = GAMMA
    tuning: ClassVar = {"alpha": (0.0, 0.3), "distance": (0.05, 0.2, 1.0), "ridge": (0.2, 4.0)}
    style: ClassVar[int | None] = 16
    kind: ClassVar[Kind | None] = "clustered"
    microseconds_per_step: ClassVar[float] = 10.0
    compile_seconds: ClassVar[int | None] = 10
    welcome: ClassVar[bool] = False
    gamma: float | None = None
    gamma_upload: float | None = None
    gamma_download: float | None = None
    distance: float = 0.1
    alpha: float = 0.3
    ridge: float = 0.2

    def __post_init__(self) -> None:
        for name in ("gamma", "gamma_upload", "gamma_download"):
            if (value := getattr(self, name)) is not None:  # one value per client is not accepted
                check.real(name, value, 1, math.inf, "a number from 1 to inf")
        check.normalise_thresholds(self)
        check.assign(
            self,
            distance=check.real("distance", self.distance, 0, math.inf, "a number from 0 to inf"),
            alpha=check.finite("alpha", self.alpha),
            ridge=check.ridge(self.ridge),
        )

    @classmethod
    def examples(cls) -> Iterable["FCLUB"]:
        """Return both extremes of γ and of the distance, and values in between."""
        yield from (FCLUB(gamma=gamma) for gamma in (1, math.inf))
        yield from (FCLUB(gamma=1.5, distance=distance) for distance in (0, 1, math.inf))
        yield FCLUB(gamma_upload=1.2, gamma_download=4, distance=0.5, alpha=1.0, ridge=1.0)
        yield FCLUB(gamma_upload=3, gamma_download=1, distance=2, alpha=0.0, ridge=0.1)

    def limits(self) -> Limits:
        """Return the limits that `make bench` checks; growth is not limited, because phases compare all pairs."""
        return Limits(floor_multiple=3.0)
