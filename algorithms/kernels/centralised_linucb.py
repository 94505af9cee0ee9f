"""One LinUCB for all steps, compiled: Sync-LinUCB without synchronisation on a stream with a single client."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from algorithms.compiled_run import SilentRun
from algorithms.kernels.sync_linucb import SyncLinUCBRun
from algorithms.methods.centralised_linucb import CentralisedLinUCB
from algorithms.methods.sync_linucb import SyncLinUCB
from algorithms.stream import Stream


@dataclass(frozen=True, eq=False)
class OneClient:
    """A stream as if one client acted at all steps."""

    items: NDArray[np.float64]
    pools: NDArray[np.int32]
    rewards: NDArray[np.float64]
    noise: NDArray[np.float64]
    client_ids: NDArray[np.int64]
    client_numbers: NDArray[np.int32]

    @classmethod
    def of(cls, stream: Stream) -> "OneClient":
        """Replace all clients of a stream by one."""
        client = np.zeros(1, dtype=np.int64), np.zeros(len(stream.pools), dtype=np.int32)
        return cls(stream.items, stream.pools, stream.rewards, stream.noise, *client)


class CentralisedLinUCBRun(SilentRun):
    """One run of CentralisedLinUCB."""

    def __init__(self, method: CentralisedLinUCB, problem: Stream, seed: int) -> None:
        super().__init__(problem)
        confidence = {name: getattr(method, name) for name in ("alpha", "ridge", "sigma", "delta")}
        self._single = SyncLinUCBRun(SyncLinUCB(threshold=math.inf, **confidence), OneClient.of(problem), seed)
        self.choices = self._single.choices

    def _advance(self, start: int, stop: int) -> int:
        self._single.advance(stop)
        return stop
