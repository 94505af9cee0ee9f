"""Times of interactions: numbers, ISO 8601 dates, or dates whose order of day and month is inferred from the values."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from data_pipelines.data_set import UNKNOWN_TIME
from data_pipelines.own_data.numbers import parse_numbers

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


class AmbiguousDatesError(ValueError):
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
