"""Atomic files: written under a temporary name, flushed to disk, then renamed."""

import errno
import hashlib
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

BLOCK = 1 << 20
PREPARING = ".preparing"
OUTDATED = ".outdated"


def flush_to_disk(path: Path) -> None:
    """Wait until a file, or a folder's directory entry, is on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def put_in_place(temporary: Path, target: Path) -> None:
    """Rename a finished file; other processes see the old or the new file, never a part of it."""
    flush_to_disk(temporary)
    temporary.replace(target)
    flush_to_disk(target.parent)


def write_whole(target: Path, content: bytes) -> None:
    """Write a small file atomically."""
    temporary = target.with_name(target.name + PREPARING)
    try:
        temporary.write_bytes(content)
        put_in_place(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)  # on a full disk


def save_array(path: Path, array: NDArray[Any]) -> None:
    """Write an array; report a full disk as such, where NumPy only says "96 requested and 40 written"."""
    try:
        np.save(path, array, allow_pickle=False)
    except OSError as error:
        raise error if error.errno else OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path)) from None


@contextmanager
def replacing_folder(target: Path) -> Iterator[Path]:
    """Yield an empty folder to fill; it replaces `target` if the block ends without an error."""
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}{PREPARING}")
    outdated = target.with_name(f".{target.name}{OUTDATED}")
    for leftover in (temporary, outdated):
        shutil.rmtree(leftover, ignore_errors=True)
    temporary.mkdir()
    try:
        yield temporary
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    for file in sorted(temporary.iterdir()):
        flush_to_disk(file)
    flush_to_disk(temporary)
    if target.exists():
        target.rename(outdated)
    temporary.rename(target)
    flush_to_disk(target.parent)
    shutil.rmtree(outdated, ignore_errors=True)


def sha256_of(path: Path) -> str:
    """Hash a file without loading it into memory."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def locked(folder: Path, name: str) -> Iterator[None]:
    """Hold the lock of one data set; the system releases it if the process is killed."""
    from filelock import FileLock, Timeout

    locks = folder / ".locks"
    locks.mkdir(parents=True, exist_ok=True)
    lock = FileLock(locks / f"{name}.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        print(f"{name}: another process is preparing it; waiting", file=sys.stderr)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()
