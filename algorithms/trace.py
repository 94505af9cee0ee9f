"""The trace of one run, and the transfers of one step."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Transfers:
    """The clients that uploaded and the clients that downloaded in one step, one entry per transfer.

    `empty_uploads` are those of `uploads` without data, such as answers to a poll: they are sent, but not needed.
    """

    uploads: Sequence[int] = ()
    downloads: Sequence[int] = ()
    empty_uploads: Sequence[int] = ()


class Counts(NamedTuple):
    """Numbers of transfers, and of the numbers that they move, for each step or for each client."""

    uploads: NDArray[np.int64]
    downloads: NDArray[np.int64]
    needed_up: NDArray[np.int64]
    needed_down: NDArray[np.int64]
    numbers_up: NDArray[np.int64]
    numbers_down: NDArray[np.int64]
    needed_numbers_up: NDArray[np.int64]
    needed_numbers_down: NDArray[np.int64]

    @classmethod
    def zeros(cls, size: int) -> "Counts":
        """Return counts of 0."""
        return cls(*np.zeros((len(cls._fields), size), dtype=np.int64))

    @classmethod
    def of_one_size(
        cls,
        uploads: NDArray[np.int64],
        downloads: NDArray[np.int64],
        needed_up: NDArray[np.int64],
        needed_down: NDArray[np.int64],
        *,
        size_up: int,
        size_down: int,
    ) -> "Counts":
        """Return the counts of transfers that all move the same quantity of numbers, up and down."""
        transfers = (uploads, downloads, needed_up, needed_down)
        sizes = (size_up, size_down, size_up, size_down)
        return cls(*transfers, *(each * size for each, size in zip(transfers, sizes, strict=True)))


@dataclass(frozen=True, eq=False)
class Trace:
    """The choices, rewards and transfers of one run.

    Per step: `choices` (positions in the pool), `rewards` (as observed), `regret` (expected reward of the
    best arm minus that of the chosen one), `uploads`, `downloads`, and `unsettled` (alternating
    minimisation had not converged; always false for the other methods).
    Per client, in the order of `client_ids`: `client_rewards`, `client_uploads`, `client_downloads`.
    `needed_up` and `needed_down` (per step), `client_needed_up` and `client_needed_down` (per client) count the
    transfers that are enough for the same choices: uploads with data, in the step in which they are made; and for all
    downloads to a client since its last decision one, the latest, in the step of its next decision, if there is one.
    `numbers_up` and `numbers_down` (per step), `client_numbers_up` and `client_numbers_down` (per client) count the
    numbers that transfers move: d (d + 1) / 2 + d for statistics {V, b}, as V is symmetric. `needed_numbers_up`,
    `client_needed_numbers_up` and so on count those of needed transfers.
    `random_reward` is what a uniformly random choice collects in expectation on the same pools; NaN if a reward is
    negative, as in simulations.
    """

    choices: NDArray[np.int32]
    rewards: NDArray[np.float64]
    regret: NDArray[np.float64]
    uploads: NDArray[np.int64]
    downloads: NDArray[np.int64]
    unsettled: NDArray[np.bool_]
    client_ids: NDArray[np.int64]
    client_rewards: NDArray[np.float64]
    client_uploads: NDArray[np.int64]
    client_downloads: NDArray[np.int64]
    needed_up: NDArray[np.int64]
    needed_down: NDArray[np.int64]
    client_needed_up: NDArray[np.int64]
    client_needed_down: NDArray[np.int64]
    numbers_up: NDArray[np.int64]
    numbers_down: NDArray[np.int64]
    client_numbers_up: NDArray[np.int64]
    client_numbers_down: NDArray[np.int64]
    needed_numbers_up: NDArray[np.int64]
    needed_numbers_down: NDArray[np.int64]
    client_needed_numbers_up: NDArray[np.int64]
    client_needed_numbers_down: NDArray[np.int64]
    random_reward: float = nan

    def __repr__(self) -> str:
        """Return the totals in one line."""
        reward = f"reward {self.rewards.sum():,.6g}"
        if self.random_reward > 0:
            reward += f" ({self.normalised_reward:.4g} × random choice)"
        return (
            f"<Trace: {len(self.choices):,} steps, {len(self.client_ids):,} clients, {reward}, "
            f"regret {self.regret.sum():,.6g}, {self.communication:,} transfers, {self.needed:,} needed>"
        )

    def frame(self) -> "pd.DataFrame":
        """Return one row per step: choice, reward, regret, and transfers and their numbers, sent and needed."""
        import pandas as pd

        names = ("choices", "rewards", "regret", *Counts._fields)
        return pd.DataFrame({name: getattr(self, name) for name in names}).rename_axis("step")

    @property
    def normalised_reward(self) -> float:
        """The reward divided by that of random choice; NaN where it has no meaning, as in simulations."""
        return float(self.rewards.sum()) / self.random_reward if self.random_reward > 0 else nan

    @property
    def communication(self) -> int:
        """C_T, the number of transfers of {ΔV, Δb}; each upload and each download counts once."""
        return int(self.uploads.sum() + self.downloads.sum())

    @property
    def needed(self) -> int:
        """The number of transfers that are enough for the same choices."""
        return int(self.needed_up.sum() + self.needed_down.sum())

    @property
    def am_unsettled(self) -> int:
        """The number of steps at which alternating minimisation still moved by more than 1e-6."""
        return int(self.unsettled.sum())
