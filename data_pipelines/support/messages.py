"""One-line messages without control characters, names that users write, and texts that every database can store."""

import difflib
import re
from collections.abc import Iterable
from fnmatch import fnmatchcase

MAX_LENGTH = 2000
NOT_STORABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
"""NUL, which PostgreSQL refuses, lone surrogates, which cannot be encoded, and controls other than tab and newline."""


def one_line(text: object) -> str:
    """Return a message with control characters escaped, cut at `MAX_LENGTH` characters."""
    message = str(text)
    line = "".join(char if char.isprintable() else _escaped(char) for char in message[: MAX_LENGTH + 1])
    return line if len(line) <= MAX_LENGTH else f"{line[:MAX_LENGTH]}… ({len(message):,} characters)"


def did_you_mean(name: str, known_names: Iterable[str]) -> str:
    """Return ` (did you mean …?)` with the most similar known name, or nothing if none is similar."""
    names = list(known_names)
    same_letters = [known for known in names if known.lower() == name.lower()]
    matches = same_letters or difflib.get_close_matches(name[:100], names, n=1, cutoff=0.5)
    return f" (did you mean {matches[0]}?)" if matches else ""


def unknown_name(what: str, name: str, known_names: Iterable[str]) -> ValueError:
    """Return the error for a name that is not one of the known names, which suggests the most similar one."""
    names = sorted(known_names)
    hint = did_you_mean(name, names)
    return ValueError(one_line(f"unknown {what} {name!r}{hint}; expected one of: {', '.join(names) or 'none'}"))


def matching_names(what: str, patterns: Iterable[str], known_names: Iterable[str]) -> list[str]:
    """Return the known names that match the patterns, each once; without patterns, all; raise if one matches none."""
    known = list(known_names)
    names: dict[str, None] = {}
    for pattern in [*patterns] or ["*"]:
        matches = [name for name in known if fnmatchcase(name, pattern)]
        if not matches:
            raise unknown_name(what, pattern, known)
        names |= dict.fromkeys(matches)
    return list(names)


def storable(text: str) -> str:
    """Return a text that every database stores: characters that some refuse are escaped, such as `\\x00` for NUL.

    Nothing is removed, because the remaining parts could join into a secret that was not there when secrets were
    filtered.
    """
    return NOT_STORABLE.sub(lambda match: _escaped(match[0]), text)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode()
