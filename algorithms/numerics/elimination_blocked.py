"""The elimination in blocks of registers: four rows and up to three vectors of four columns at a time.

The plain loops of `elimination` load and store a row again for every four earlier rows. Here a tile of 4 rows and 12
columns stays in twelve registers while all earlier rows are subtracted from it, as in a good matrix product. Compilers
do not find this by themselves, so the tile is written as LLVM instructions, which Numba compiles like everything else.
Both versions give the same numbers up to rounding.

Whether the processor has such registers is read from the target that Numba compiles for, which is also part of the key
of kernels on disk.
"""

# mypy: disallow-untyped-calls=False, disallow-untyped-decorators=False
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.core.registry import cpu_target
from numba.extending import intrinsic as numba_intrinsic

LANES = 4
"""Doubles in a vector; also the maximum number of rows of a tile."""

MAX_WIDTH = 3
"""Vectors in a row of a tile: 4 · 3 sums, three loaded vectors and a factor fill the 16 registers of AVX2."""

DOUBLE = ir.DoubleType()
VECTOR = ir.VectorType(DOUBLE, LANES)
INDEX = ir.IntType(64)
LANE = ir.IntType(32)

Builder = Any
Value = Any

intrinsic: Any = numba_intrinsic


def processor_has_vectors() -> bool:
    """Tell whether kernels are compiled for AVX2 and FMA, which the processor or NUMBA_CPU_FEATURES determines."""
    settings: Any = config
    if settings.DISABLE_JIT:
        return False
    _, _, features = cpu_target.target_context.codegen().magic_tuple()
    return {"+avx2", "+fma"} <= {feature.strip() for feature in features.split(",")}


def _reduction_of(count: int) -> Any:
    """Return an intrinsic that reduces `count` rows at a time."""

    @intrinsic
    def reduce(typing_context: Any, rows: Any, factors: Any, inverse_pivots: Any, first: Any) -> Any:
        def generate(context: Any, builder: Builder, signature: Any, arguments: Any) -> Value:
            arrays = _arrays(context, builder, signature, arguments, 3)
            rows, factors, inverse_pivots = (array.data for array in arrays)
            columns = cgutils.unpack_tuple(builder, arrays[0].shape)[1]
            _Block(builder, rows, factors, inverse_pivots, columns, arguments[3], count).reduce()
            return context.get_dummy_value()

        return types.void(rows, factors, inverse_pivots, types.int64), generate

    return reduce


@intrinsic
def sum_up(
    typing_context: Any, rows: Any, inverse_pivots: Any, squared_widths: Any, means: Any, dimension: Any, arms: Any
) -> Any:
    """Set squared widths and means from the reduced columns after V, in whole vectors."""

    def generate(context: Any, builder: Builder, signature: Any, arguments: Any) -> Value:
        arrays = _arrays(context, builder, signature, arguments, 4)
        columns = cgutils.unpack_tuple(builder, arrays[0].shape)[1]
        rows, inverse_pivots, squared_widths, means = (array.data for array in arrays)
        dimension, arms = arguments[4:]
        block = _Block(builder, rows, rows, inverse_pivots, columns, dimension, 0)
        right = builder.sub(columns, dimension)
        place = cgutils.alloca_once_value(builder, INDEX(0))
        for width in (MAX_WIDTH, 1):
            bound = builder.sub(right, INDEX(LANES * (width - 1)))
            with _while_below(builder, place, bound) as start:
                block.sum_up(start, width, squared_widths, means, arms)
                builder.store(builder.add(start, INDEX(LANES * width)), place)
        return context.get_dummy_value()

    index = types.int64
    return types.void(rows, inverse_pivots, squared_widths, means, index, index), generate


@intrinsic
def place_four_arms(typing_context: Any, rows: Any, items: Any, four: Any, feature: Any, row: Any, column: Any) -> Any:
    """Write four features of four items, transposed, into four columns of four rows."""

    def generate(context: Any, builder: Builder, signature: Any, arguments: Any) -> Value:
        targets, sources = _arrays(context, builder, signature, arguments, 2)
        feature, row, column = arguments[3:]
        source = _Block(builder, sources.data, None, None, cgutils.unpack_tuple(builder, sources.shape)[1], None, 0)
        target = _Block(builder, targets.data, None, None, cgutils.unpack_tuple(builder, targets.shape)[1], None, 0)
        a, b, c, d = (
            builder.load(source.element(item, feature), align=8) for item in cgutils.unpack_tuple(builder, arguments[2])
        )
        even_ab, odd_ab = _mixed(builder, a, b, [0, 4, 2, 6]), _mixed(builder, a, b, [1, 5, 3, 7])
        even_cd, odd_cd = _mixed(builder, c, d, [0, 4, 2, 6]), _mixed(builder, c, d, [1, 5, 3, 7])
        low, high = [0, 1, 4, 5], [2, 3, 6, 7]
        for r, (left, right, half) in enumerate(
            ((even_ab, even_cd, low), (odd_ab, odd_cd, low), (even_ab, even_cd, high), (odd_ab, odd_cd, high))
        ):
            place = target.element(builder.add(row, INDEX(r)), column)
            builder.store(_mixed(builder, left, right, half), place, align=8)
        return context.get_dummy_value()

    index = types.int64
    return types.void(rows, items, types.UniTuple(index, LANES), index, index, index), generate


def _arrays(context: Any, builder: Builder, signature: Any, arguments: Any, count: int) -> list[Any]:
    """Return the first arguments, which are arrays."""
    pairs = zip(signature.args[:count], arguments[:count], strict=True)
    return [context.make_array(kind)(context, builder, value) for kind, value in pairs]


def _mixed(builder: Builder, one: Value, other: Value, lanes: list[int]) -> Value:
    return builder.shuffle_vector(one, other, ir.Constant(ir.VectorType(LANE, LANES), lanes))


@contextmanager
def _while_below(builder: Builder, place: Value, bound: Value) -> Iterator[Value]:
    """Repeat the instructions written in the block while the number in `place` is below a bound."""
    test = builder.append_basic_block("test")
    body = builder.append_basic_block("body")
    after = builder.append_basic_block("after")
    builder.branch(test)
    builder.position_at_end(test)
    number = builder.load(place)
    builder.cbranch(builder.icmp_signed("<", number, bound), body, after)
    builder.position_at_end(body)
    yield number
    builder.branch(test)
    builder.position_at_end(after)


class _Block:
    """Writes the instructions that reduce some rows, the first of which is `first`, by all rows above them."""

    def __init__(
        self,
        builder: Builder,
        rows: Value,
        factors: Value,
        inverse_pivots: Value,
        columns: Value,
        first: Value,
        count: int,
    ) -> None:
        self.builder, self.columns, self.first, self.count = builder, columns, first, count
        self.rows, self.factors, self.inverse_pivots = rows, factors, inverse_pivots

    def reduce(self) -> None:
        """Write all instructions: the factors, the tile that holds the pivots, then the tiles right of it."""
        builder = self.builder
        self._pack_factors()
        column = cgutils.alloca_once_value(builder, self.first)
        if self.count < LANES:  # the tile starts at a whole vector, left of the pivot
            builder.store(builder.and_(self.first, INDEX(-LANES)), column)
        self._widest_that_fits(column, with_pivots=True)
        with _while_below(builder, column, self.columns):
            self._widest_that_fits(column, with_pivots=False)

    def sum_up(self, start: Value, width: int, squared_widths: Value, means: Value, arms: Value) -> None:
        """Write the sums over all rows for the columns from `start` after V."""
        builder = self.builder
        dimension = self.first
        zeros = ir.Constant(VECTOR, [0.0] * LANES)
        sums = [[cgutils.alloca_once_value(builder, zeros) for _ in range(width)] for _ in range(2)]
        for line in sums:
            for total in line:
                builder.store(zeros, total)
        with cgutils.for_range(builder, dimension) as loop:
            pivot = builder.load(builder.gep(self.inverse_pivots, [loop.index]))
            right_side = self.element(loop.index, builder.add(dimension, arms), DOUBLE)
            weight = builder.fmul(builder.load(right_side), pivot)
            for v in range(width):
                column = builder.add(dimension, builder.add(start, INDEX(LANES * v)))
                reduced = builder.load(self.element(loop.index, column), align=8)
                scaled = builder.fmul(self._splat(pivot), reduced)
                builder.store(self._plus(builder.load(sums[0][v]), scaled, reduced), sums[0][v])
                builder.store(self._plus(builder.load(sums[1][v]), self._splat(weight), reduced), sums[1][v])
        for line, results in zip(sums, (squared_widths, means), strict=True):
            for v in range(width):
                place = builder.gep(results, [builder.add(start, INDEX(LANES * v))])
                builder.store(builder.load(line[v]), builder.bitcast(place, VECTOR.as_pointer()), align=8)

    def _widest_that_fits(self, column: Value, with_pivots: bool) -> None:
        """Reduce the tile at `column` and advance by its width: three vectors, or two if one would remain."""
        builder = self.builder
        start = builder.load(column)
        left = builder.sub(self.columns, start)
        takes_three = builder.and_(
            builder.icmp_signed(">=", left, INDEX(3 * LANES)), builder.icmp_signed("!=", left, INDEX(4 * LANES))
        )
        with builder.if_else(takes_three) as (three, fewer):
            with three:
                self._tile(start, 3, with_pivots)
                builder.store(builder.add(start, INDEX(3 * LANES)), column)
            with fewer, builder.if_else(builder.icmp_signed(">=", left, INDEX(2 * LANES))) as (two, one):
                with two:
                    self._tile(start, 2, with_pivots)
                    builder.store(builder.add(start, INDEX(2 * LANES)), column)
                with one:
                    self._tile(start, 1, with_pivots)
                    builder.store(builder.add(start, INDEX(LANES)), column)

    def _pack_factors(self) -> None:
        """Set four numbers for each earlier row: the factors by which it is added to the rows of this block."""
        builder = self.builder
        with cgutils.for_range(builder, self.first) as loop:
            pivot = builder.load(builder.gep(self.inverse_pivots, [loop.index]))
            for r in range(self.count) if self.count < LANES else [0]:
                kind = DOUBLE if self.count < LANES else VECTOR
                place = self.element(loop.index, builder.add(self.first, INDEX(r)), kind)
                scale = pivot if kind is DOUBLE else self._splat(pivot)
                factor = builder.fneg(builder.fmul(builder.load(place, align=8), scale))
                builder.store(factor, self._factor(loop.index, r, kind), align=8)

    def _tile(self, start: Value, width: int, with_pivots: bool) -> None:
        builder = self.builder
        places = [
            [
                self.element(builder.add(self.first, INDEX(r)), builder.add(start, INDEX(LANES * v)))
                for v in range(width)
            ]
            for r in range(self.count)
        ]
        sums = [[cgutils.alloca_once_value(builder, builder.load(p, align=8)) for p in line] for line in places]
        with cgutils.for_range(builder, self.first) as loop:
            earlier = [
                builder.load(self.element(loop.index, builder.add(start, INDEX(LANES * v))), align=8)
                for v in range(width)
            ]
            for r in range(self.count):
                factor = self._splat(builder.load(self._factor(loop.index, r)))
                for v in range(width):
                    builder.store(self._plus(builder.load(sums[r][v]), factor, earlier[v]), sums[r][v])
        values = [[builder.load(total) for total in line] for line in sums]
        for q in range(self.count):
            row = builder.add(self.first, INDEX(q))
            if with_pivots:
                inverse = self._take_pivot(values[q][0], row, q)
            for r in range(q + 1, self.count):
                place = self._factor(row, r)
                if with_pivots:
                    entry = builder.extract_element(values[q][0], LANE(r))
                    builder.store(builder.fneg(builder.fmul(entry, inverse)), place)
                factor = self._splat(builder.load(place))
                for v in range(width):
                    values[r][v] = self._plus(values[r][v], factor, values[q][v])
        for value_line, place_line in zip(values, places, strict=True):
            for value, place in zip(value_line, place_line, strict=True):
                builder.store(value, place, align=8)

    def _take_pivot(self, vector: Value, row: Value, q: int) -> Value:
        """Set 1/D of a row; before, its position holds the minimum of D."""
        builder = self.builder
        lane = builder.trunc(builder.and_(row, INDEX(LANES - 1)), LANE) if self.count < LANES else LANE(q)
        pivot = builder.extract_element(vector, lane)
        place = builder.gep(self.inverse_pivots, [row])
        least = builder.load(place)
        pivot = builder.select(builder.fcmp_ordered("<", pivot, least), least, pivot)
        inverse = builder.fdiv(DOUBLE(1.0), pivot)
        builder.store(inverse, place)
        return inverse

    def element(self, row: Value, column: Value, kind: Any = VECTOR) -> Value:
        """Return the address of a vector, or of one number."""
        builder = self.builder
        place = builder.gep(self.rows, [builder.add(builder.mul(row, self.columns), column)])
        return builder.bitcast(place, kind.as_pointer())

    def _factor(self, row: Value, r: int, kind: Any = DOUBLE) -> Value:
        builder = self.builder
        place = builder.gep(self.factors, [builder.add(builder.mul(row, INDEX(LANES)), INDEX(r))])
        return builder.bitcast(place, kind.as_pointer())

    def _splat(self, number: Value) -> Value:
        vector = self.builder.insert_element(ir.Constant(VECTOR, ir.Undefined), number, LANE(0))
        zeros = ir.Constant(ir.VectorType(LANE, LANES), [0] * LANES)
        return self.builder.shuffle_vector(vector, ir.Constant(VECTOR, ir.Undefined), zeros)

    def _plus(self, total: Value, factor: Value, vector: Value) -> Value:
        """Return total + factor · vector, in one instruction where the processor has it."""
        product = self.builder.fmul(factor, vector, flags=("contract",))
        return self.builder.fadd(total, product, flags=("contract",))


reduce_four_rows = _reduction_of(LANES)
reduce_one_row = _reduction_of(1)
