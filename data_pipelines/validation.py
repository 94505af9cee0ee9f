"""One-line messages for values that pydantic rejects: the field, what it must be, and the value."""

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import ValidationError

ERROR = {"value_error", "assertion_error"}


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
