"""A state by reference has the same fields as the state itself."""

from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from algorithms.numerics.jit import compiled, entry_point
from algorithms.numerics.references import reference


class Inner(NamedTuple):
    """One array per dtype and number of axes."""

    numbers: NDArray[np.float64]
    flags: NDArray[np.bool_]
    matrix: NDArray[np.int32]
    cube: NDArray[np.float64]


class Outer(NamedTuple):
    """Numbers before and after a nested state."""

    count: int
    is_on: bool
    first: Inner
    scale: float
    second: Inner
    last: NDArray[np.int64]


def new_inner(start: int) -> Inner:
    return Inner(
        numbers=np.arange(start, start + 3.0),
        flags=np.array([False, True]),
        matrix=np.arange(start, start + 6, dtype=np.int32).reshape(2, 3),
        cube=np.arange(start, start + 24.0).reshape(2, 3, 4),
    )


def new_outer() -> Outer:
    return Outer(count=-3, is_on=True, first=new_inner(0), scale=-0.5, second=new_inner(100), last=np.array([7, 8]))


@entry_point
def read(state: Outer, results: NDArray[np.float64]) -> None:
    results[0] = state.count
    results[1] = state.scale
    results[2] = state.last[1]
    results[3] = read_inner(state.first)
    results[4] = read_inner(state.second)
    results[5] = 10.0 if state.is_on else 20.0
    results[6] = state.second.cube.shape[2] + state.second.flags.size


@compiled
def read_inner(inner: Inner) -> float:
    row = inner.matrix[1]
    plane = inner.cube[1, 1:]
    return inner.numbers[2] + 1000.0 * row[2] + 1e6 * plane[1, 3] + (0.25 if inner.flags[1] else 0.75)


def test_fields_have_the_same_values_by_reference_and_by_value() -> None:
    by_reference, by_value = np.zeros(7), np.zeros(7)
    state = new_outer()
    read(reference(state), by_reference)
    read(state, by_value)
    assert by_reference.tolist() == by_value.tolist()
    assert by_reference.tolist() == [-3.0, -0.5, 8.0, 23005002.25, 123105102.25, 10.0, 6.0]


@entry_point
def write(state: Outer) -> None:
    for i in range(state.first.numbers.size):
        state.first.numbers[i] += state.scale
    state.last[0] += state.count


def test_a_kernel_writes_into_the_arrays_of_the_state() -> None:
    state = new_outer()
    write(reference(state))
    assert state.first.numbers.tolist() == [-0.5, 0.5, 1.5]
    assert state.last.tolist() == [4, 8]


def test_the_reference_to_an_unchanged_state_is_made_once() -> None:
    state = new_outer()
    first = reference(state)
    assert reference(state, first) is first
    assert reference(state._replace(scale=state.scale), first) is first
    assert reference(state._replace(scale=0.25), first) is not first
    assert reference(new_outer(), first) is not first


def test_an_array_with_gaps_is_refused() -> None:
    state = new_outer()._replace(last=np.arange(8)[::2])
    with pytest.raises(ValueError, match="must be contiguous"):
        reference(state)
