"""What a fuzz target is: how its inputs are made, and what is done with one of them."""

import random
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

LONGEST_MESSAGE = 3000


@dataclass(frozen=True)
class Target:
    """One kind of hostile input.

    `check` returns whether the input was accepted; it raises where neither a right acceptance nor a clear
    refusal came out. `seeds` are what a coverage-guided search starts from; without them there is none.
    """

    name: str
    share: int
    make: Callable[[random.Random], bytes]
    check: Callable[[bytes], bool]
    seeds: Callable[[], Sequence[bytes]] | None = None
    warm_up: Callable[[], object] = lambda: None
    """Loads the libraries that only some inputs need, before the clock runs."""


class WrongAcceptanceError(AssertionError):
    """Something was accepted that must not be."""


def require(is_right: bool, what: str) -> None:
    """Complain of an input that was accepted and should not have been."""
    if not is_right:
        raise WrongAcceptanceError(what)


def require_one_line(error: BaseException, *beginnings: str) -> None:
    """Complain of a refusal that is not one clear line, or not ours: ours begin in a known way."""
    text = str(error)
    if not text.strip() or not text.isprintable() or len(text) > LONGEST_MESSAGE:
        raise AssertionError(f"not one clear line: {text[:200]!r}") from error
    if beginnings and not text.startswith(beginnings):
        raise AssertionError(f"not a refusal of ours: {type(error).__name__}: {text[:200]!r}") from error


@cache
def scratch() -> Path:
    """Return this process's own empty folder, in memory where the system has such a place."""
    memory = Path("/dev/shm")
    where = str(memory) if memory.is_dir() else None
    folder = tempfile.TemporaryDirectory(prefix="fedbandit-fuzz-", dir=where)
    _KEPT.append(folder)
    return Path(folder.name)


_KEPT: list["tempfile.TemporaryDirectory[str]"] = []
