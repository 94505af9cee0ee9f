"""One-line messages without control characters, suggestions for names, and texts that every database can store."""

import difflib
import re
import tomllib
from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError

MAX_LENGTH = 2000
NOT_STORABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
"""NUL, which PostgreSQL refuses, lone surrogates, which cannot be encoded, and controls other than tab and newline."""


def one_line(text: object) -> str:
    """Return a message with control characters escaped, cut at `MAX_LENGTH` characters."""
    message = str(text)
    line = "".join(char if char.isprintable() else _escaped(char) for char in message[: MAX_LENGTH + 1])
    return line if len(line) <= MAX_LENGTH else f"{line[:MAX_LENGTH]}… ({len(message):,} characters)"


def error_text(error: BaseException) -> str:
    """Return the name and message of an exception, even if its own `__str__` fails."""
    try:
        return f"{type(error).__name__}: {error}"
    except BaseException:
        return f"{type(error).__name__}: (its message cannot be shown)"


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


def without_controls(text: str) -> str:
    """Return a text for people; raise a ValueError if it has control characters, which terminals and files obey."""
    if NOT_STORABLE.search(text):
        raise ValueError(f"must not have control characters, got {text[:100]!r}")
    return text


def storable(text: str) -> str:
    """Return a text that every database stores: characters that some refuse are escaped, such as `\\x00` for NUL.

    Nothing is removed, because the remaining parts could join into a secret that was not there when secrets were
    filtered.
    """
    return NOT_STORABLE.sub(lambda match: _escaped(match[0]), text)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode()


Model = TypeVar("Model", bound="BaseModel")

ERROR = {"value_error", "assertion_error"}
KINDS = ("simulated", "dataset")
"""What pydantic adds to the place of a mistake in a stream: the kind of the stream."""


def read_toml(path: Path, max_bytes: int) -> dict[str, Any]:
    """Read a TOML file; one that is too large, cannot be read or is not TOML raises ValueError with one line."""
    try:
        with path.open("rb") as file:
            content = file.read(max_bytes + 1)
    except OSError as error:
        raise ValueError(one_line(f"{path} cannot be read: {error.strerror}")) from None
    if len(content) > max_bytes:
        raise ValueError(one_line(f"{path} is larger than {max_bytes:,} bytes"))
    try:
        return tomllib.loads(content.decode())
    except (ValueError, RecursionError) as error:
        raise ValueError(one_line(f"{path} is not valid TOML: {error}")) from None


def shown(value: object) -> str:
    """Return a value as it is shown in a message, even one that is nested too deeply."""
    try:
        return repr(value)
    except RecursionError:
        return "a value that is nested too deeply"


def load_toml(
    path: Path,
    model: type[Model],
    max_bytes: int,
    describe: "Callable[[ValidationError], str] | None" = None,
    **fields: Any,
) -> Model:
    """Read a TOML file into a model, with further fields; one that is not valid raises ValueError with one line."""
    from pydantic import ValidationError

    content = read_toml(path, max_bytes)
    try:
        return model.model_validate({**content, **fields})
    except ValidationError as error:
        raise ValueError(one_line(f"{path}: {(describe or described)(error)}")) from None


def described(error: "ValidationError") -> str:
    """Return the field, what is expected and the value, for the most likely mistake."""
    details = most_likely(error)
    field = ".".join(str(part) for part in details["loc"] if part not in KINDS) or "the file"
    if details["type"] == "extra_forbidden":
        return f"unknown field {field}, got {shown(details['input'])}"
    return complaint(field, details)


def most_likely(error: "ValidationError") -> dict[str, Any]:
    """Return the details of the most likely mistake.

    For a field that accepts two types, pydantic reports an error for each: the deeper one is the relevant one. An
    unknown field comes before a missing one: they may be the same field, misspelt.
    """
    details = max(error.errors(), key=lambda each: (each["type"] == "extra_forbidden", len(each["loc"])))
    return dict(details)


def complaint(field: str, details: dict[str, Any]) -> str:
    """Return one line about a field: what it must be, and its value."""
    if details["type"] == "missing":
        return f"required field {field} is missing"
    if details["type"] in ERROR:
        return f"{field}: {details['ctx']['error']}" if field else str(details["ctx"]["error"])
    rule = re.sub(r"^\w+ should ", "must ", details["msg"])
    return f"{field} {rule[0].lower()}{rule[1:]}, got {shown(details['input'])}"
