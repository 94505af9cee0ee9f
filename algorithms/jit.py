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

Function = TypeVar("Function", bound=Callable[..., object])

OPTIONS: dict[str, Any] = {
    "cache": True,
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


def compiled(function: Function) -> Function:
    """Compile a kernel, for one thread."""
    config: Any = numba.config
    before = config.CACHE_DIR
    config.CACHE_DIR = str(CACHE_FOLDER)
    try:
        decorated: Function = numba.njit(**OPTIONS)(function)
        return decorated
    finally:
        config.CACHE_DIR = before
