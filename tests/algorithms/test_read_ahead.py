"""Reading ahead changes nothing but what is in the cache."""

import numba
import numpy as np
from numpy.typing import NDArray

from algorithms.exchange.read_ahead import prefetch
from algorithms.numerics.jit import OPTIONS


def read_all_ahead(table: NDArray[np.float64]) -> None:
    for i in range(table.shape[0]):
        prefetch(table, i)


def test_data_are_requested_and_not_changed() -> None:
    kernel = numba.njit(**OPTIONS | {"cache": False})(read_all_ahead)  # cached code cannot be inspected
    cube = np.arange(7 * 5 * 3.0).reshape(7, 5, 3)
    kernel(cube)
    assert cube.tolist() == np.arange(7 * 5 * 3.0).reshape(7, 5, 3).tolist()
    assert "@llvm.prefetch" in "".join(kernel.inspect_llvm().values())
