"""Async-LinUCB-AM, Algorithm 3, and its warm start, Algorithm 5."""

from dataclasses import dataclass
from typing import ClassVar

from algorithms import hyperparameters as check
from algorithms.hyperparameters import Alpha, Threshold
from algorithms.problem import Problem


@dataclass(frozen=True, kw_only=True)
class AsyncLinUCBAM:
    """Hyper-parameters of Async-LinUCB-AM, beside those of Async-LinUCB.

    `global_dim` is d_g: the first d_g features are global, the others local; `None` makes all features both.
    `warm_start` selects Algorithm 5. `am_iterations` bounds the alternating minimisation of one step.
    """

    name: ClassVar[str] = "async-linucb-am"
    gamma: Threshold | None = None
    gamma_upload: Threshold = check.UNSET
    gamma_download: Threshold = check.UNSET
    global_dim: int | None = None
    warm_start: bool = False
    am_iterations: int = 100
    alpha: Alpha = 0.3
    ridge: float = 0.2
    sigma: float = 0.1
    delta: float = 0.1

    def __post_init__(self) -> None:
        check.normalise_thresholds(self)
        check.normalise_confidence(self)
        if self.global_dim is not None:
            object.__setattr__(self, "global_dim", check.integer("global_dim", self.global_dim, 1))
        if not isinstance(self.warm_start, bool):
            raise ValueError(f"warm_start is {self.warm_start!r}; allowed are True and False")
        object.__setattr__(self, "am_iterations", check.integer("am_iterations", self.am_iterations, 1))

    def feature_slices(self, dimension: int) -> tuple[slice, slice]:
        """Return where the global and where the local features lie in x."""
        if self.global_dim is None:
            return slice(0, dimension), slice(0, dimension)
        check.integer("global_dim", self.global_dim, 1, dimension)
        return slice(0, self.global_dim), slice(self.global_dim, dimension)

    def start(self, problem: Problem, seed: int) -> "object":
        """Prepare a run over a stream."""
        raise NotImplementedError
