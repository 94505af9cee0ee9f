"""Compilation: decorators for kernels, and a disk cache that never returns an outdated kernel.

Numba's own cache checks only the file of the function itself and misses changes to helpers in other files. So the
name of the cache folder contains a hash of all files of this package. Inside it, kernels are found by the name of their
module, not by its path: another copy of the same package compiles nothing again.

Numba optimises every function together with everything it calls, and compiles it to machine code: a loop seven calls
deep is optimised seven times, and the machine code of all but the outermost function is never used. Here a kernel that
only other kernels call is left as it is written, as LLVM code to be linked into its callers, and the entry point that
contains it is optimised once, as a whole.
"""

# mypy: disallow-untyped-calls=False, disallow-untyped-decorators=False, disallow-subclassing-any=False
import hashlib
import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numba
import numpy as np
from numba import _dynfunc  # type: ignore[attr-defined]
from numba.core.caching import IndexDataCacheFile, UserProvidedCacheLocator
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.typed_passes import NativeLowering

from algorithms.kernel_cache import CACHE_FOLDER

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


class _CheckedFiles(IndexDataCacheFile):
    """The files of a stored kernel, each with its hash at the end: a damaged one counts as missing.

    Numba would fail to read it, or execute damaged machine code. The kernel is compiled and stored again.
    """

    def _load_index(self) -> Any:
        return super()._load_index() if _is_whole(Path(self._index_path)) else {}

    def _load_data(self, name: str) -> Any:
        return super()._load_data(name) if _is_whole(Path(self._data_path(name))) else None

    @contextmanager
    def _open_for_write(self, filepath: str) -> Iterator[io.BytesIO]:
        with super()._open_for_write(filepath) as file:
            yield (content := io.BytesIO())
            file.write(content.getvalue() + hashlib.sha256(content.getvalue()).digest())


def _is_whole(file: Path) -> bool:
    content = file.read_bytes() if file.is_file() else b""
    size = hashlib.sha256().digest_size
    return hashlib.sha256(content[:-size]).digest() == content[-size:]


class _LinkedCode(JITCodeLibrary):
    """LLVM code that is neither optimised nor compiled to machine code."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _LinkedLowering(NativeLowering):
    _name = "linked_lowering"

    def run_pass(self, state: Any) -> bool:
        state.library = _LinkedCode(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        lowered = state["cr"]
        name = lowered.fndesc.qualname.split(".")[-1]
        handle = _dynfunc.make_function(lowered.fndesc.lookup_module(), name, "", 0, lowered.env, (state.library,))
        state.targetctx.insert_user_function(handle, lowered.fndesc, [state.library])
        state["cr"] = lowered._replace(cfunc=handle)
        return True


class LinkedCompiler(CompilerBase):
    """Numba's pipeline with a different last step."""

    def define_pipelines(self) -> list[PassManager]:
        """Return the only pipeline."""
        pipeline = DefaultPassBuilder.define_nopython_pipeline(self.state)
        linked = PassManager("linked")
        for step, description in pipeline.passes:
            linked.add_pass(_LinkedLowering if step is NativeLowering else step, description)
        linked.finalize()
        return [linked]


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
        decorated: Any = numba.njit(**OPTIONS | options)(function)
        if (files := getattr(decorated._cache, "_cache_file", None)) is not None:
            files.__class__ = _CheckedFiles  # Numba offers no way to choose it
        kernel: Function = decorated
        return kernel
    finally:
        config.CACHE_LOCATOR_CLASSES = previous_locators
