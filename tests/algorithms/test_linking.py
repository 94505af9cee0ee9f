"""An inner kernel becomes machine code only as part of an entry point."""

from typing import Any

import numba
import numpy as np
from numba.core.codegen import CPUCodeLibrary

from algorithms.kernel_cache import CACHE_FOLDER
from algorithms.numerics.jit import OPTIONS, compiled, entry_point


@compiled
def doubled(number: int) -> int:
    return 2 * number


@compiled
def doubled_twice(number: int) -> int:
    return doubled(doubled(number))


@entry_point
def sum_of_both(number: int) -> int:
    return doubled(number) + doubled_twice(number)


def test_an_entry_point_contains_the_kernels_that_it_calls() -> None:
    assert sum_of_both(7) == 42
    assert list(CACHE_FOLDER.rglob("*sum_of_both*.nbi"))
    assert not list(CACHE_FOLDER.rglob("*doubled*.nbi"))


def test_an_inner_kernel_has_no_machine_code_of_its_own() -> None:
    fresh = numba.njit(**OPTIONS | {"cache": False})(sum_of_both.py_func)  # type: ignore[attr-defined]
    assert fresh(np.int32(7)) == 42
    kernel: Any = doubled_twice
    (overload,) = [result for types, result in kernel.overloads.items() if types == (numba.int32,)]
    assert overload.entry_point is not None
    assert not overload.codegen._engine.is_symbol_defined(overload.fndesc.mangled_name)


def test_numba_still_has_the_steps_that_are_left_out() -> None:
    assert {"_optimize_final_module", "_finalize_final_module"} <= vars(CPUCodeLibrary).keys()
