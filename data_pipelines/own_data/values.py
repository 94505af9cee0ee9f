"""Values in the user's tables: ids, numbers with a decimal point or a decimal comma, and times."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from data_pipelines.data_set import UNKNOWN_TIME
from data_pipelines.own_data.table import Column, OptionNeededError, Problem, find_problem

MAX_ID_LENGTH = 500
"""Ids are kept in an array in which each takes as much memory as the longest."""
NO_IDS = frozenset(("nan", "NaN", "NaT", "<NA>", "inf", "-inf", "Infinity", "-Infinity"))
"""Common spellings of missing values, rejected as ids."""
WHOLE_NUMBER = re.compile(r"0|[1-9][0-9]{0,17}")


def id_problems(
    path: Path, column: Column, is_malformed: NDArray[np.bool_]
) -> Iterator[tuple[NDArray[np.bool_], Problem]]:
    """Yield the rows without a proper id, by kind, and the problem of each kind."""
    for requirement, is_bad in (
        (f"{column.name} must be an id", _is_missing),
        (f"{column.name} must be at most {MAX_ID_LENGTH} printable characters", _is_improper),
    ):
        bad_values = np.array([is_bad(value) for value in column.values], dtype=bool)
        bad_rows = bad_values[column.codes] & ~is_malformed
        if problem := find_problem(path, requirement, bad_rows, column.values, column.codes):
            yield bad_rows, problem


def _is_missing(value: str) -> bool:
    return not value.strip() or value in NO_IDS


def _is_improper(value: str) -> bool:
    return not _is_missing(value) and (len(value) > MAX_ID_LENGTH or not value.isprintable())


def stored_ids(texts: Sequence[str]) -> NDArray[Any]:
    """Return ids as whole numbers if all of them are written as such (007 is not), else as text."""
    if all(WHOLE_NUMBER.fullmatch(text) for text in texts):
        return np.array([int(text) for text in texts], dtype=np.int64)
    return np.array(texts, dtype=str)


WITH_COMMA = re.compile(r"\s*[+-]?\d+,(\d+)\s*")
DECIMAL_MARKS = (".", ",")


@dataclass(frozen=True)
class Numbers:
    """The numbers of distinct texts, NaN where a text is not a number, and the decimal mark."""

    values: NDArray[np.float64]
    decimal: str


class AmbiguousNumbersError(OptionNeededError):
    """Raised for numbers such as 1,250, whose comma may be a decimal mark or separate thousands."""

    def __init__(self, example: str) -> None:
        super().__init__(
            f"numbers such as {example.strip()[:40]!r} may have a decimal comma or separated thousands; "
            "give --decimal , or write them without separators"
        )


def parse_numbers(texts: Sequence[str], decimal: str | None = None) -> Numbers:
    """Parse texts with the given decimal mark, or else with the one detected in the texts."""
    decimal = decimal or detect_decimal(texts)
    plain = [text.replace(",", ".") if decimal == "," and "." not in text else text for text in texts]
    return Numbers(np.array([_number(text) for text in plain], dtype=np.float64), decimal)


def detect_decimal(texts: Sequence[str]) -> str:
    """Return a comma if some texts have one as decimal mark, else a point."""
    fractions = [(text, match[1]) for text in texts if "," in text and (match := WITH_COMMA.fullmatch(text))]
    if not fractions:
        return "."
    if all(len(fraction) == 3 for _, fraction in fractions):
        raise AmbiguousNumbersError(fractions[0][0])
    return ","


def _number(text: str) -> float:
    """Return a text as a number; Python's digit groups (1_000) are not accepted."""
    try:
        return float("nan") if "_" in text else float(text)
    except ValueError:
        return float("nan")


NUMBER, ISO, DAY_FIRST, MONTH_FIRST, YEAR_FIRST = "number", "iso", "day-first", "month-first", "year-first"
DATE_FORMATS = (NUMBER, ISO, DAY_FIRST, MONTH_FIRST, YEAR_FIRST)
DATE = re.compile(
    r"(\d{1,4})([./-])(\d{1,2})\2(\d{4}|\d{1,2})"
    r"(?:(?:[T ]|, ?)(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,6})\d*)?)?(?: ?([AaPp])\.?[Mm]\.?)?)?"
)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
MAX_TIME = 2.0**63


@dataclass(frozen=True)
class Times:
    """Times of distinct texts as whole numbers (0: unknown), which of them are invalid, and the format as shown."""

    values: NDArray[np.int64]
    is_invalid: NDArray[np.bool_]
    date_format: str
    description: str


def parse_times(texts: Sequence[str], date_format: str | None, decimal: str | None = None) -> Times:
    """Parse distinct texts in the given format, or in the one that most of them have; empty texts are unknown times."""
    is_blank = np.array([not text.strip() for text in texts], dtype=bool)
    date_format = date_format or _detected(texts, is_blank, decimal)
    values, is_invalid = _parsed(texts, date_format, decimal)
    values[is_blank | is_invalid] = UNKNOWN_TIME
    return Times(values, is_invalid & ~is_blank, date_format, _description(texts, date_format))


def check_date_format(text: str) -> None:
    """Raise an error unless a text is the name of a format or a pattern such as %d.%m.%Y."""
    if text not in DATE_FORMATS and "%" not in text:
        raise ValueError(
            f"--date-format must be one of {', '.join(DATE_FORMATS)} or a pattern such as %d.%m.%Y, got {text!r}"
        )


def _detected(texts: Sequence[str], is_blank: NDArray[np.bool_], decimal: str | None) -> str:
    filled = [text for text, blank in zip(texts, is_blank, strict=True) if not blank]
    not_numbers = int(np.isnan(parse_numbers(filled, decimal).values).sum())
    if not not_numbers:
        return NUMBER
    dates = [match for text in filled if (match := DATE.fullmatch(text.strip()))]
    invalid_counts = {ISO: int(_iso_times(filled)[1].sum()), "other": len(filled) - len(dates), NUMBER: not_numbers}
    best = min(invalid_counts, key=lambda name: invalid_counts[name])  # of equal ones, the first
    return _order_of(dates) if best == "other" else best


def _order_of(dates: Sequence[re.Match[str]]) -> str:
    """Infer the order of day, month and year from the values; if they do not determine it, ask for the option."""
    if 2 * sum(len(date[1]) > 2 for date in dates) > len(dates):
        return YEAR_FIRST
    days_first = sum(int(date[1]) > 12 for date in dates)
    months_first = sum(int(date[3]) > 12 for date in dates)
    if days_first == months_first:
        raise AmbiguousDatesError(dates[0][0])
    return DAY_FIRST if days_first > months_first else MONTH_FIRST


class AmbiguousDatesError(OptionNeededError):
    """Raised for dates whose order of day and month cannot be inferred."""

    def __init__(self, example: str) -> None:
        super().__init__(
            f"day and month cannot be told apart in dates such as {example[:40]!r}; "
            f"give --date-format {DAY_FIRST} or --date-format {MONTH_FIRST}"
        )


def _parsed(texts: Sequence[str], date_format: str, decimal: str | None) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    if date_format == NUMBER:
        return _number_times(texts, decimal)
    if date_format == ISO:
        return _iso_times(texts)
    values = np.zeros(len(texts), dtype=np.int64)
    is_invalid = np.zeros(len(texts), dtype=bool)
    for row, text in enumerate(texts):
        try:
            moment = _moment(text.strip(), date_format)
            values[row] = (moment - EPOCH) // MICROSECOND
        except (ValueError, OverflowError):
            is_invalid[row] = True
    return values, is_invalid


def _moment(text: str, date_format: str) -> datetime:
    """Return the moment of a date; dates without a time zone are taken as UTC."""
    if date_format in (DAY_FIRST, MONTH_FIRST, YEAR_FIRST):
        return _date_in_order(text, date_format)
    moment = datetime.strptime(text, date_format)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _date_in_order(text: str, order: str) -> datetime:
    match = DATE.fullmatch(text)
    if not match:
        raise ValueError(text)
    first, second, third = match[1], match[3], match[4]
    year, month, day = {
        DAY_FIRST: (third, second, first),
        MONTH_FIRST: (third, first, second),
        YEAR_FIRST: (first, second, third),
    }[order]
    if len(year) not in (2, 4):
        raise ValueError(text)
    hour, minute, second = (int(match[group] or 0) for group in (5, 6, 7))
    if match[9]:
        if not 1 <= hour <= 12:
            raise ValueError(text)
        hour = hour % 12 + 12 * (match[9] in "Pp")
    fraction = int((match[8] or "0").ljust(6, "0"))
    return datetime(_full_year(year), int(month), int(day), hour, minute, second, fraction, UTC)


def _full_year(year: str) -> int:
    """Complete a year of two digits as Python does: 69 is 1969, 68 is 2068."""
    number = int(year)
    if len(year) == 4:
        return number
    return number + (1900 if number >= 69 else 2000)


def _iso_times(texts: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    import pandas

    dates: Any = pandas.to_datetime(
        pandas.Series(list(texts), dtype=object), errors="coerce", utc=True, format="ISO8601"
    )
    is_invalid = dates.isna().to_numpy()
    values = dates.dt.tz_localize(None).to_numpy().astype("datetime64[us]").astype(np.int64)
    return np.where(is_invalid, UNKNOWN_TIME, values), is_invalid


def _number_times(texts: Sequence[str], decimal: str | None) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return numbers as they are; if there are fractions, in millionths."""
    numbers = parse_numbers(texts, decimal).values
    if not (numbers[np.isfinite(numbers)] % 1 != 0).any():
        return _whole_numbers(texts, numbers)
    with np.errstate(over="ignore", invalid="ignore"):
        millionths = numbers * 1e6
    is_invalid = ~(np.abs(millionths) < MAX_TIME)
    return np.round(np.where(is_invalid, 0, millionths)).astype(np.int64), is_invalid


def _whole_numbers(texts: Sequence[str], numbers: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return whole numbers with all their digits: a float has room for 15."""
    is_invalid = ~(np.abs(numbers) < MAX_TIME)
    values = np.where(is_invalid, 0, numbers).astype(np.int64)
    for row in np.flatnonzero(~is_invalid & (np.abs(numbers) >= 2.0**53)).tolist():
        try:
            values[row] = int(texts[row])
        except (ValueError, OverflowError):
            continue
    return values, is_invalid


def _description(texts: Sequence[str], date_format: str) -> str:
    """Return the format as users see it."""
    if date_format in (NUMBER, ISO):
        return {NUMBER: "times are numbers", ISO: "dates year-month-day"}[date_format]
    if "%" in date_format:
        return f"dates {date_format}"
    marks = [match[2] for text in texts if (match := DATE.fullmatch(text.strip()))]
    mark = marks[0] if marks else "/"
    parts = {
        DAY_FIRST: ("day", "month", "year"),
        MONTH_FIRST: ("month", "day", "year"),
        YEAR_FIRST: ("year", "month", "day"),
    }
    return f"dates {mark.join(parts[date_format])}"
