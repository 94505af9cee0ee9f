"""What the literal references share: they read the stream, and send nothing."""

import numpy as np
from numpy.typing import NDArray

from algorithms.numerics.literal_statistics import Array
from algorithms.stream import Stream
from algorithms.trace import Transfers


class LiteralReference:
    """A rule that reads the stream itself, which no contender may: the items behind the offered features."""

    role = "reference"
    stream: Stream
    step: int

    def read_stream(self, stream: Stream) -> None:
        """Read the stream before the first step."""
        self.stream = stream
        self.step = 0

    @property
    def pool(self) -> NDArray[np.int32]:
        """The items offered at this step."""
        pool: NDArray[np.int32] = self.stream.pools[self.step]
        return pool

    def learn(self, client: int, context: Array, reward: float) -> Transfers:
        """Go on to the next step; send nothing."""
        self.step += 1
        return Transfers()
