"""Compilation: one decorator for every kernel, and a disk cache that never serves a stale one.

Numba's own cache looks only at the file of the function itself; a helper changed in another file would go
unnoticed. So the cache folder carries the hash of all files of this package in its name.
"""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
import numpy as np

Function = TypeVar("Function", bound=Callable[..., object])

OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"contract", "reassoc", "nsz"},  # sums in any order, but NaN and infinity as they are
    "_nrt": False,  # no reference counting: it took a third of the time; kernels must not allocate, and do not
}


def cache_folder(package: Path) -> Path:
    """Return the folder for compiled kernels, named after the contents of a package."""
    digest = hashlib.sha256()
    for file in sorted(package.glob("*.py")):
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    base = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "fedbandit" / f"kernels-{digest.hexdigest()[:16]}"


CACHE_FOLDER = cache_folder(Path(__file__).parent)


def _can_write(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)


OPTIONS["cache"] = _can_write(CACHE_FOLDER)  # else kernels are compiled anew by each process


def kernels_are_compiled() -> bool:
    """Tell whether there are compiled kernels on disk, so that nobody has to wait for the compiler."""
    return any(CACHE_FOLDER.rglob("*.nbc"))


def compiled(function: Function) -> Function:
    """Compile a kernel, for one thread; with NUMBA_DISABLE_JIT=1 it stays Python, for debuggers and coverage."""
    config: Any = numba.config
    if config.DISABLE_JIT:
        interpreted: Function = np.errstate(all="ignore")(function)  # integers wrap around, as in machine code
        return interpreted
    before = config.CACHE_DIR
    config.CACHE_DIR = str(CACHE_FOLDER)
    try:
        decorated: Function = numba.njit(**OPTIONS)(function)
        return decorated
    finally:
        config.CACHE_DIR = before
