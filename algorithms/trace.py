"""The outcome of one run, and what one step transfers."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Transfers:
    """The clients that uploaded and the clients that downloaded in one step, one entry a transfer."""

    uploads: Sequence[int] = ()
    downloads: Sequence[int] = ()


@dataclass(frozen=True, eq=False)
class Trace:
    """What one run chose, earned and transferred.

    Per step: `choices` (positions in the pool), `rewards` (as observed), `regret` (expected reward of the
    best arm minus that of the chosen one), `uploads`, `downloads`, and `unsettled` (alternating
    minimisation had not settled; always false for the other methods).
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
        """C_T, the number of transfers of {ΔV, Δb}: one an upload, one a download."""
        return int(self.uploads.sum() + self.downloads.sum())

    @property
    def scalars_moved(self) -> int:
        """d² + d numbers a transfer."""
        return self.communication * (self.transfer_dim**2 + self.transfer_dim)

    @property
    def scalars_moved_symmetric(self) -> int:
        """d(d+1)/2 + d numbers a transfer, where only half of the symmetric matrix is sent."""
        return self.communication * (self.transfer_dim * (self.transfer_dim + 1) // 2 + self.transfer_dim)

    @property
    def am_unsettled(self) -> int:
        """The number of steps at which alternating minimisation still moved by more than 1e-6."""
        return int(self.unsettled.sum())
