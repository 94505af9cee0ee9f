"""Compilation: decorators for kernels, and a disk cache that never returns an outdated kernel.

Numba's own cache checks only the file of the function itself and misses changes to helpers in other files. So the
name of the cache folder contains a hash of all files of this package. Inside it, kernels are found by the name of their
module, not by its path: another copy of the same package compiles nothing again.
"""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
import numpy as np
from numba.core.caching import UserProvidedCacheLocator

from algorithms.kernel_cache import CACHE_FOLDER
from algorithms.numerics.linking import LinkedCompiler

Function = TypeVar("Function", bound=Callable[..., object])

OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"contract", "reassoc", "nsz"},  # sums in any order, but correct NaN and infinity
    "_nrt": False,  # no reference counting, which took a third of the time; kernels must not allocate
    "no_cfunc_wrapper": True,  # no C code calls kernels
}


def _can_write(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)


OPTIONS["cache"] = _can_write(CACHE_FOLDER)  # otherwise every process compiles the kernels again


class KernelLocator(UserProvidedCacheLocator):
    """Tells Numba the cache folder of a kernel."""

    def __init__(self, py_func: Any, py_file: str) -> None:
        self._py_file = py_file
        self._lineno = py_func.__code__.co_firstlineno
        self._cache_path = str(CACHE_FOLDER / py_func.__module__)

    def get_source_stamp(self) -> str:
        """Return the hash of the file: a stored kernel is valid for the same content, whatever the file's date."""
        return hashlib.sha256(Path(self._py_file).read_bytes()).hexdigest()

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> "KernelLocator":
        """Accept every function: `_can_write` has checked the folder already."""
        return cls(py_func, py_file)


def compiled(function: Function) -> Function:
    """Compile a kernel that only other kernels call, for one thread: as part of the entry points that reach it.

    With NUMBA_DISABLE_JIT=1 it stays Python, for debuggers and coverage.
    """
    return _decorated(function, {"no_cpython_wrapper": True, "pipeline_class": LinkedCompiler, "cache": False})


def entry_point(function: Function) -> Function:
    """Compile a kernel that Python calls, with all kernels that it calls, and store it on disk."""
    return _decorated(function, {})


def _decorated(function: Function, options: dict[str, Any]) -> Function:
    config: Any = numba.config
    if config.DISABLE_JIT:
        interpreted: Function = np.errstate(all="ignore")(function)  # integers wrap around, as in machine code
        return interpreted
    previous_locators = config.CACHE_LOCATOR_CLASSES
    config.CACHE_LOCATOR_CLASSES = f"{__name__}.{KernelLocator.__name__}"
    try:
        decorated: Function = numba.njit(**OPTIONS | options)(function)
        return decorated
    finally:
        config.CACHE_LOCATOR_CLASSES = previous_locators
