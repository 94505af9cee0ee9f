"""The columns of a table: given by name, or recognised by their names."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from data_pipelines.support.messages import did_you_mean, one_line

MAX_NAMES = 1000


@dataclass(frozen=True)
class Role:
    """What a column is for, the option that names it, and the names by which it is recognised."""

    name: str
    option: str
    default: str
    """The name that takes precedence over all others."""
    names: frozenset[str]


def _with_ids(*names: str) -> frozenset[str]:
    return frozenset(name + ending for name in names for ending in ("", "id", "no", "number", "code", "key"))


USER = Role(
    "user",
    "--user-column",
    "user",
    _with_ids("user", "customer", "client", "visitor", "member", "account", "buyer", "shopper", "reader", "person")
    | {"uid"},
)
_ITEMS = _with_ids("item", "product", "stock", "article", "movie", "film", "book", "artist", "song", "track") | {
    *("sku", "asin", "isbn", "url")
}
ITEM = Role("item", "--item-column", "item", _ITEMS)
ID = Role("item", "--id-column", "item", _ITEMS | {"id", "code"})
TIME = Role(
    "time",
    "--time-column",
    "time",
    frozenset(
        {"time", "timestamp", "date", "datetime", "at", "when", "ts", "day", "unixtime"}
        | {
            event + ending
            for event in ("event", "order", "invoice", "purchase", "created", "transaction", "visit", "click", "rating")
            for ending in ("at", "date", "time", "timestamp", "datetime", "on")
        }
    ),
)
WORDS = Role(
    "words",
    "--words-column",
    "words",
    frozenset(
        {"words", "description", "title", "name", "text", "tags", "keywords", "category", "categories", "genres"}
        | {item + text for item in ("item", "product", "article") for text in ("name", "title", "description")}
    ),
)


def find_column(path: Path, columns: Sequence[str], role: Role, given: str | None) -> str | None:
    """Return the column that is given or recognised; None if there is none that could be it.

    A given name that does not exist, and several candidates, are errors that name the option.
    """
    if given is not None:
        return _given_column(path, columns, role, given)
    if role.default in columns:
        return role.default
    candidates = [column for column in columns if _normalised(column) in role.names]
    if len(candidates) > 1:
        names = ", ".join(map(repr, candidates))
        raise ValueError(
            one_line(f"{path} has several columns that could be the {role.name} ({names}); choose with {role.option}")
        )
    return candidates[0] if candidates else None


def require_column(path: Path, columns: Sequence[str], role: Role, given: str | None) -> str:
    """Return the column that is given or recognised; if there is none, raise an error that names the option."""
    column = find_column(path, columns, role, given)
    if column is None:
        raise ValueError(
            one_line(
                f"{path} has no column {role.default!r} or similar; name it with {role.option}; {_listed(columns)}"
            )
        )
    return column


def _given_column(path: Path, columns: Sequence[str], role: Role, given: str) -> str:
    if given in columns:
        return given
    hint = did_you_mean(given, columns)
    raise ValueError(one_line(f"{path} has no column {given!r}{hint}, see {role.option}; {_listed(columns)}"))


def _listed(columns: Sequence[str]) -> str:
    return f"its columns are {', '.join(map(repr, columns))[:MAX_NAMES]}"


def _normalised(column: str) -> str:
    return re.sub(r"[\W_]+", "", column).lower()
