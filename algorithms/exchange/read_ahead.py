"""Read memory ahead: the client and the items of the next step are known, so their data can arrive during this step.

Nothing is computed here; the processor only starts to move data from memory to its cache, and does not wait for it.
"""

# mypy: disallow-untyped-calls=False, disallow-untyped-decorators=False
from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic as numba_intrinsic
from numpy.typing import NDArray

from algorithms.exchange.pending import Pending
from algorithms.numerics.jit import compiled

LINE = 64
"""Bytes that move together."""

INDEX = ir.IntType(64)
FLAG = ir.IntType(32)
READ, SECOND_LEVEL, DATA = FLAG(0), FLAG(2), FLAG(1)

intrinsic: Any = numba_intrinsic


@intrinsic
def _prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        source = context.make_array(signature.args[0])(context, builder, arguments[0])
        size = source.itemsize
        for length in cgutils.unpack_tuple(builder, source.shape)[1:]:
            size = builder.mul(size, length)
        address = ir.IntType(8).as_pointer()
        start = builder.gep(builder.bitcast(source.data, address), [builder.mul(arguments[1], size)])
        kind = ir.FunctionType(ir.VoidType(), [address, FLAG, FLAG, FLAG])
        instruction = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        lines = builder.udiv(builder.add(size, INDEX(LINE - 1)), INDEX(LINE))
        with cgutils.for_range(builder, lines) as loop:
            place = builder.gep(start, [builder.mul(loop.index, INDEX(LINE))])
            builder.call(instruction, [place, READ, SECOND_LEVEL, DATA])
        return context.get_dummy_value()

    return types.void(array, types.int64), generate


def _do_nothing(array: Any, index: int) -> None:
    """Stand in for `prefetch` without a compiler."""


settings: Any = config
prefetch = _do_nothing if settings.DISABLE_JIT else _prefetch
"""Start to read `array[index]`, where the array is contiguous."""


@compiled
def read_arms_ahead(items: NDArray[np.float64], pool: NDArray[np.int32]) -> None:
    """Start to read the features of a pool."""
    for arm in range(pool.size):
        prefetch(items, pool[arm])


@compiled
def read_own_data_ahead(pending: Pending, client: int) -> None:
    """Start to read the sums of a client's own data, if it has them."""
    slot = pending.slot[client]
    if slot >= 0:
        prefetch(pending.slot_V, slot)
