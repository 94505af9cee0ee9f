"""The user's options for importing a table."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from math import isfinite
from pathlib import Path
from typing import Any, Literal, get_args

from data_pipelines.own_data.values import DECIMAL_MARKS, check_date_format
from data_pipelines.prepare.prepared import MAX_DIMENSION

Features = Literal["words", "co-occurrence", "one-hot"]
FEATURES: tuple[str, ...] = get_args(Features)
Repeats = Literal["once", "keep"]
REPEATS: tuple[str, ...] = get_args(Repeats)


@dataclass(frozen=True, kw_only=True)
class ImportOptions:
    """How to read a table of interactions; columns and formats that are not given are detected.

    Without a time column, or where it is empty or zero, a user's interactions are put in random order.
    """

    items: Path | None = None
    """The table of items; without it, the items are those of the interactions."""
    user_column: str | None = None
    item_column: str | None = None
    time_column: str | None = None
    id_column: str | None = None
    words_column: Sequence[str] | None = None
    rating_column: str | None = None
    quantity_column: str | None = None
    """Rows whose quantity is not above zero are returns, which are bad rows."""
    value_column: str | None = None
    """What an interaction is worth: a column of numbers from 0, or a product such as `price*quantity`."""
    positive_from: float | None = None
    """Interactions rated lower have reward 0."""
    features: Features | None = None
    """By default words if there are any, else co-occurrence."""
    repeats: Repeats | None = None
    """Without a choice, `once`."""
    skip_bad_rows: bool = False
    encoding: str | None = None
    separator: str | None = None
    decimal: str | None = None
    date_format: str | None = None
    dimension: int | None = None

    def given(self) -> dict[str, Any]:
        """Return the options that differ from their defaults, by name."""
        values = {field.name: getattr(self, field.name) for field in fields(ImportOptions)}
        return {name: value for name, value in values.items() if value != getattr(ImportOptions, name)}

    def check(self) -> None:
        """Raise an error for values that cannot be used, whatever the tables contain."""
        for option, value, choices in (
            ("--features", self.features, FEATURES),
            ("--repeats", self.repeats, REPEATS),
            ("--decimal", self.decimal, DECIMAL_MARKS),
        ):
            if value is not None and value not in choices:
                raise ValueError(f"{option} must be one of {' '.join(choices)}, got {value!r}")
        if self.dimension is not None and not 1 <= self.dimension <= MAX_DIMENSION:
            raise ValueError(f"dimension must be an integer from 1 to {MAX_DIMENSION}, got {self.dimension}")
        if self.date_format is not None:
            check_date_format(self.date_format)
        if self.positive_from is not None and self.rating_column is None:
            raise ValueError(f"--positive-from must be used with --rating-column, got {self.positive_from:g} without")
        if self.positive_from is not None and not isfinite(self.positive_from):
            raise ValueError(f"--positive-from must be a finite number, got {self.positive_from:g}")
        if self.words_column is not None and self.features not in (None, "words"):
            raise ValueError(f"--words-column cannot be combined with --features {self.features}")
        if self.id_column is not None and self.items is None:
            raise ValueError(f"--id-column must be used with --items, got {self.id_column!r} without")
