"""Compilation: one decorator for every kernel, and a disk cache that never serves a stale one.

Numba's own cache looks only at the file of the function itself; a helper changed in another file would go
unnoticed. So the cache folder carries the hash of all files of this package in its name.
"""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numba

Function = TypeVar("Function", bound=Callable[..., object])


def _cache_folder() -> Path:
    digest = hashlib.sha256()
    for file in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    base = (
        os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    )
    return Path(base) / "fedbandit" / f"kernels-{digest.hexdigest()[:16]}"


CACHE_FOLDER = _cache_folder()


def compiled(function: Function) -> Function:
    """Compile for one thread, without the GIL, with sums in any order but with NaN and infinity respected."""
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(CACHE_FOLDER)
    try:
        decorated: Function = numba.njit(
            cache=True, nogil=True, _nrt=False, error_model="numpy", fastmath={"contract", "reassoc", "nsz"}
        )(function)
        return decorated
    finally:
        numba.config.CACHE_DIR = before
