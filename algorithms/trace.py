"""The trace of one run, and the transfers of one step."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Transfers:
    """The clients that uploaded and the clients that downloaded in one step, one entry per transfer."""

    uploads: Sequence[int] = ()
    downloads: Sequence[int] = ()


@dataclass(frozen=True, eq=False)
class Trace:
    """The choices, rewards and transfers of one run.

    Per step: `choices` (positions in the pool), `rewards` (as observed), `regret` (expected reward of the
    best arm minus that of the chosen one), `uploads`, `downloads`, and `unsettled` (alternating
    minimisation had not converged; always false for the other methods).
    Per client, in the order of `client_ids`: `client_rewards`, `client_uploads`, `client_downloads`.
    `transfer_dim` is the dimension of the statistics that one transfer moves.
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
    transfer_dim: int

    @property
    def communication(self) -> int:
        """C_T, the number of transfers of {ΔV, Δb}; each upload and each download counts once."""
        return int(self.uploads.sum() + self.downloads.sum())

    @property
    def scalars_moved(self) -> int:
        """d² + d numbers per transfer."""
        return self.communication * (self.transfer_dim**2 + self.transfer_dim)

    @property
    def am_unsettled(self) -> int:
        """The number of steps at which alternating minimisation still moved by more than 1e-6."""
        return int(self.unsettled.sum())
