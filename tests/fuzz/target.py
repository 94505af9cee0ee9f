"""A fuzz target: how its inputs are made, damaged and checked."""

import random
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

MAX_MESSAGE_LENGTH = 3000
NUMBERS = (b"0", b"-1", b"1", b"9" * 19, b"1e309", b"nan", b"inf", b"-0", b"1.5", b"18446744073709551616", b"007", b"")
BYTES = (b"\0", b"\xff", b"\xef\xbb\xbf", b"\r\n", b"\n", b"\r", b"\t", b'"', b"'", b"\\", b"\xc3\xa9")
BYTES += (b"\xe2\x80\xa8", b"\x1b[2J")


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


def damaged(draw: random.Random, content: bytes, tokens: Sequence[bytes] = (), max_damages: int = 4) -> bytes:
    """Return the content with one to `max_damages` damages."""
    result = bytearray(content)
    for _ in range(draw.randint(1, max_damages)):
        _damage(draw, result, tokens)
    return bytes(result)


def _damage(draw: random.Random, content: bytearray, tokens: Sequence[bytes]) -> None:
    start = draw.randint(0, len(content))
    stop = min(len(content), start + draw.choice((0, 1, 1, 2, 5, 20)))
    kind = draw.randrange(7)
    if kind == 0 and start < len(content):
        content[start] ^= 1 << draw.randrange(8)
    elif kind == 1:
        del content[start:stop]
    elif kind == 2:
        content[start:start] = content[start:stop] * draw.choice((1, 1, 2, 50))
    elif kind == 3:
        content[start:stop] = draw.choice((*NUMBERS, *BYTES))
    elif kind == 4:
        content[start:stop] = draw.choice(tokens or BYTES)
    elif kind == 5:
        content[start:stop] = draw.randbytes(draw.randint(1, 8))
    elif draw.random() < 0.3:
        del content[start:]
