"""A fuzz target: how its inputs are made, and how one of them is checked."""

import random
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

MAX_MESSAGE_LENGTH = 3000


@dataclass(frozen=True)
class Target:
    """One kind of hostile input.

    `check` returns whether the input was accepted; it raises unless the input was correctly accepted or clearly
    refused. A coverage-guided search starts from `seeds`; without them there is no such search.
    """

    name: str
    share: int
    make: Callable[[random.Random], bytes]
    check: Callable[[bytes], bool]
    seeds: Callable[[], Sequence[bytes]] | None = None
    warm_up: Callable[[], object] = lambda: None
    """Loads the libraries that only some inputs need, before times are measured."""


class WrongAcceptanceError(AssertionError):
    """An input was accepted that must not be."""


def require(is_correct: bool, problem: str) -> None:
    """Raise an error for an input that was accepted and should not have been."""
    if not is_correct:
        raise WrongAcceptanceError(problem)


def require_one_line(error: BaseException, *prefixes: str) -> None:
    """Raise an error for a refusal that is not one clear line, or that does not start like one of our messages."""
    text = str(error)
    if not text.strip() or not text.isprintable() or len(text) > MAX_MESSAGE_LENGTH:
        raise AssertionError(f"not one clear line: {text[:200]!r}") from error
    if prefixes and not text.startswith(prefixes):
        raise AssertionError(f"not one of our messages: {type(error).__name__}: {text[:200]!r}") from error


@cache
def scratch() -> Path:
    """Return an empty folder of this process, in memory if the system supports it."""
    memory = Path("/dev/shm")
    parent = str(memory) if memory.is_dir() else None
    folder = tempfile.TemporaryDirectory(prefix="fedbandit-fuzz-", dir=parent)
    _FOLDERS.append(folder)
    return Path(folder.name)


_FOLDERS: list["tempfile.TemporaryDirectory[str]"] = []
