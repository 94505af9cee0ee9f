"""Files that are either whole or absent: written beside, flushed to disk, then put in place."""

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
    """Wait until a file, or a folder's list of names, has reached the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def put_in_place(written: Path, target: Path) -> None:
    """Give a finished file its name; whoever looks sees the old one or the new one, never a part."""
    flush_to_disk(written)
    written.replace(target)
    flush_to_disk(target.parent)


def write_whole(target: Path, content: bytes) -> None:
    """Write a small file so that it is never seen half-written."""
    beside = target.with_name(target.name + PREPARING)
    beside.write_bytes(content)
    put_in_place(beside, target)


def save_array(path: Path, array: NDArray[Any]) -> None:
    """Write an array; a full disk is called that, where NumPy says "96 requested and 40 written"."""
    try:
        np.save(path, array, allow_pickle=False)
    except OSError as error:
        raise error if error.errno else OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path)) from None


@contextmanager
def replacing_folder(target: Path) -> Iterator[Path]:
    """Yield an empty folder to fill; it takes the place of `target` once the block ends well."""
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = target.with_name(f".{target.name}{PREPARING}")
    outdated = target.with_name(f".{target.name}{OUTDATED}")
    for leftover in (beside, outdated):
        shutil.rmtree(leftover, ignore_errors=True)
    beside.mkdir()
    try:
        yield beside
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise
    for file in sorted(beside.iterdir()):
        flush_to_disk(file)
    flush_to_disk(beside)
    if target.exists():
        target.rename(outdated)
    beside.rename(target)
    flush_to_disk(target.parent)
    shutil.rmtree(outdated, ignore_errors=True)


def sha256_of(path: Path) -> str:
    """Hash a file without holding it in memory."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def locked(folder: Path, name: str) -> Iterator[None]:
    """Hold the lock of one data set; a killed process releases it, so nothing stays locked."""
    from filelock import FileLock, Timeout

    locks = folder / ".locks"
    locks.mkdir(parents=True, exist_ok=True)
    lock = FileLock(locks / f"{name}.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        print(f"{name}: another process is at work on it; waiting for it to end", file=sys.stderr)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()
