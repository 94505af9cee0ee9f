"""From a TOML file to a checked model, with one-line messages: the field, what it must be, and its value."""

import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from data_pipelines.support.messages import one_line

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError

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
        return f"unknown field {field}, got {details['input']!r}"
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
    return f"{field} {rule[0].lower()}{rule[1:]}, got {details['input']!r}"
