"""The methods in plain NumPy, line by line and without optimisation: documentation and oracle.

Names stand for the paper's symbols: `model` is {V_i, b_i}, `pending` {ΔV_i, Δb_i}, `server` {V_g, b_g},
`undelivered` {ΔV_-j, Δb_-j}, `ridge` λ. Every determinant is that of the matrix plus λI. Errors in the paper's
pseudo-code are corrected where a docstring says so.
"""

import numpy as np
from numpy.typing import NDArray

from algorithms.method import Learner, Method
from algorithms.numerics.literal_statistics import Array
from algorithms.stream import Stream
from algorithms.trace import Transfers


def literal(method: Method) -> Learner:
    """Return the literal implementation of a method, with the same hyper-parameters, for `replay`."""
    return method.literal()


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
