"""Values in the user's tables: ids, numbers with a decimal point or a decimal comma, and times.

Texts are the distinct values of a column, an array of pyarrow.
"""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from data_pipelines.data_set import UNKNOWN_TIME
from data_pipelines.own_data.table import OptionNeededError

MAX_ID_LENGTH = 500
"""Ids are kept in an array in which each takes as much memory as the longest."""
NO_IDS = ("nan", "NaN", "NaT", "<NA>", "inf", "-inf", "Infinity", "-Infinity")
"""Common spellings of missing values, rejected as ids."""

NUMBER_PATTERN = r"(?i)^[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf|infinity)$"
DECIMAL_MARKS = (".", ",")

NUMBER, ISO, DAY_FIRST, MONTH_FIRST, YEAR_FIRST = "number", "iso", "day-first", "month-first", "year-first"
DATE_FORMATS = (NUMBER, ISO, DAY_FIRST, MONTH_FIRST, YEAR_FIRST)
ORDERS = {
    DAY_FIRST: ("day", "month", "year"),
    MONTH_FIRST: ("month", "day", "year"),
    YEAR_FIRST: ("year", "month", "day"),
}
DATE_PATTERN = (
    r"^(?P<first>\d{1,4})(?P<mark>[./-])(?P<second>\d{1,2})(?P<last_mark>[./-])(?P<third>\d{4}|\d{1,2})"
    r"(?:(?:[T ]|, ?)(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<seconds>\d{2})(?:[.,](?P<fraction>\d{1,6})\d*)?)?"
    r"(?: ?(?P<half>[AaPp])\.?[Mm]\.?)?)?$"
)
MAX_TIME = 2.0**63


def matches(texts: Any, pattern: str) -> NDArray[np.bool_]:
    """Tell for each text whether it has a match of a pattern."""
    from pyarrow import compute

    return np.asarray(compute.match_substring_regex(texts, pattern))


def is_blank(texts: Any) -> NDArray[np.bool_]:
    """Tell for each text whether it is empty or white space."""
    from pyarrow import compute

    return np.asarray(compute.equal(compute.utf8_trim_whitespace(texts), ""))


def bad_ids(texts: Any) -> dict[str, NDArray[np.bool_]]:
    """Return what an id must be, and which texts are not."""
    import pyarrow as pa
    from pyarrow import compute

    is_missing = is_blank(texts) | np.asarray(compute.is_in(texts, value_set=pa.array(NO_IDS, type=texts.type)))
    is_long = np.asarray(compute.greater(compute.utf8_length(texts), MAX_ID_LENGTH))
    is_printable = np.asarray(compute.utf8_is_printable(texts))
    return {
        "an id": is_missing,
        f"at most {MAX_ID_LENGTH} printable characters": ~is_missing & (is_long | ~is_printable),
    }


def stored_ids(texts: Any) -> NDArray[Any]:
    """Return ids as whole numbers if all of them are written as such (007 is not), else as text."""
    if matches(texts, r"^(0|[1-9][0-9]{0,17})$").all():
        return np.asarray(texts.cast("int64"))
    return np.array(texts.to_pylist(), dtype=str)


def parse_numbers(texts: Any, decimal: str | None = None) -> tuple[NDArray[np.float64], str]:
    """Return the numbers of distinct texts, NaN where a text is not a number, and the decimal mark.

    Without a given decimal mark, it is detected in the texts.
    """
    from pyarrow import compute

    decimal = decimal or _detect_decimal(texts)
    texts = compute.utf8_trim_whitespace(texts)
    if decimal == ",":
        has_point = compute.match_substring(texts, ".")
        texts = compute.if_else(has_point, texts, compute.replace_substring(texts, ",", "."))
    numbers = compute.if_else(matches(texts, NUMBER_PATTERN), texts, "nan").cast("float64")
    return np.array(numbers), decimal


def _detect_decimal(texts: Any) -> str:
    """Return a comma if some texts have one as decimal mark, else a point; ask for the option if it is ambiguous."""
    with_comma = texts.filter(matches(texts, r"^\s*[+-]?\d+,\d+\s*$"))
    if not len(with_comma):
        return "."
    if matches(with_comma, r",\d{3}\s*$").all():
        raise OptionNeededError(
            f"numbers such as {with_comma[0].as_py().strip()[:40]!r} may have a decimal comma or separated thousands; "
            "give --decimal , or write them without separators"
        )
    return ","


@dataclass(frozen=True)
class Times:
    """Times of distinct texts (or `UNKNOWN_TIME`), which of them are invalid, and the format as shown."""

    values: NDArray[np.int64]
    is_invalid: NDArray[np.bool_]
    date_format: str
    description: str

    @property
    def requirement(self) -> str:
        """What a time must be."""
        rules = {NUMBER: "a number below 9e12", ISO: "a number or a date such as 2024-05-31T12:00:00"}
        return rules.get(self.date_format, f"like the other {self.description}")


def check_date_format(text: str) -> None:
    """Raise an error unless a text is the name of a format or a pattern such as %d.%m.%Y."""
    import pandas

    try:
        if text not in DATE_FORMATS:
            pandas.to_datetime(["-"], format=text, errors="coerce")
        is_valid = text in DATE_FORMATS or "%" in text
    except (ValueError, re.error):
        is_valid = False
    if not is_valid:
        raise ValueError(
            f"--date-format must be one of {', '.join(DATE_FORMATS)} or a pattern such as %d.%m.%Y, got {text!r}"
        )


def parse_times(texts: Any, date_format: str | None, decimal: str | None = None) -> Times:
    """Parse texts in the given format, or in the one that most of them have; empty texts are unknown times."""
    from pyarrow import compute

    blank = is_blank(texts)
    date_format = date_format or _detect_format(texts.filter(~blank), decimal)
    description = {NUMBER: "times are numbers", ISO: "dates year-month-day"}.get(date_format, f"dates {date_format}")
    if date_format == NUMBER:
        values, is_invalid = _number_times(texts, decimal)
    elif date_format in ORDERS:
        parts = _date_parts(texts)
        mark = next(iter(parts["mark"][parts["is_date"]]), "/")
        description = f"dates {mark.join(ORDERS[date_format])}"
        values, is_invalid = _date_times(_iso_texts(parts, date_format), "ISO8601")
    elif date_format == ISO:
        values, is_invalid = _date_times(texts.to_pandas(), "ISO8601")
    else:
        values, is_invalid = _date_times(compute.utf8_trim_whitespace(texts).to_pandas(), date_format)
    values[blank | is_invalid] = UNKNOWN_TIME
    return Times(values, is_invalid & ~blank, date_format, description)


def _detect_format(texts: Any, decimal: str | None) -> str:
    """Return the format of most texts; ask for the option if the order of day and month cannot be inferred."""
    not_numbers = int(np.isnan(parse_numbers(texts, decimal)[0]).sum())
    if not not_numbers:
        return NUMBER
    parts = _date_parts(texts)
    dates = parts[parts["is_date"]]
    invalid_counts = {
        ISO: int(_date_times(texts.to_pandas(), "ISO8601")[1].sum()),
        "other": len(texts) - len(dates),
        NUMBER: not_numbers,
    }
    best = min(invalid_counts, key=lambda name: invalid_counts[name])  # of equal ones, the first
    if best != "other":
        return best
    if 2 * (dates["first"].str.len() > 2).sum() > len(dates):
        return YEAR_FIRST
    days_first, months_first = ((dates[part].astype(int) > 12).sum() for part in ("first", "second"))
    if days_first == months_first:
        example = texts.filter(parts["is_date"].to_numpy())[0].as_py().strip()
        raise OptionNeededError(
            f"day and month cannot be told apart in dates such as {example[:40]!r}; "
            f"give --date-format {DAY_FIRST} or --date-format {MONTH_FIRST}"
        )
    return DAY_FIRST if days_first > months_first else MONTH_FIRST


def _date_parts(texts: Any) -> Any:
    """Return a data frame with the parts of dates such as 31.12.2024 8:05, empty where there are none."""
    import pyarrow as pa
    from pyarrow import compute

    groups = compute.extract_regex(compute.utf8_trim_whitespace(texts), DATE_PATTERN)
    parts = pa.Table.from_struct_array(groups).to_pandas().fillna("")
    return parts.assign(is_date=(parts["mark"] != "") & (parts["mark"] == parts["last_mark"]))


def _iso_texts(parts: Any, order: str) -> Any:
    """Return dates year-month-day; a year of two digits is completed as Python does: 69 is 1969, 68 is 2068."""
    import pandas

    date = dict(zip(ORDERS[order], (parts["first"], parts["second"], parts["third"]), strict=True))
    year = date["year"]
    century = (year >= "69").map({True: "19", False: "20"})
    is_year = year.str.len().isin((2, 4)) & (year != "0000") & parts["is_date"]
    year = year.where(year.str.len() != 2, century + year).where(is_year, "")
    hour = pandas.to_numeric(parts["hour"], errors="coerce").fillna(0).astype(int)
    is_half_day, is_afternoon = parts["half"] != "", parts["half"].isin(("p", "P"))
    invalid = 99
    hour = hour.where(~is_half_day, (hour % 12 + 12 * is_afternoon).where(hour.between(1, 12), invalid)).astype(str)
    minute, seconds, fraction = (parts[name].replace("", "0") for name in ("minute", "seconds", "fraction"))
    return year + "-" + date["month"] + "-" + date["day"] + "T" + hour + ":" + minute + ":" + seconds + "." + fraction


def _date_times(texts: Any, date_format: str) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return dates in microseconds since 1970, and which are invalid; without a time zone they are taken as UTC."""
    import pandas

    dates = pandas.to_datetime(texts, format=date_format, errors="coerce", utc=True)
    values = dates.dt.tz_localize(None).to_numpy().astype("datetime64[us]").astype(np.int64)
    return values, dates.isna().to_numpy()


def _number_times(texts: Any, decimal: str | None) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return whole numbers with all their digits (a float has room for 15); if there are fractions, in millionths."""
    from pyarrow import compute

    numbers, _ = parse_numbers(texts, decimal)
    has_fractions = bool((numbers[np.isfinite(numbers)] % 1 != 0).any())
    if has_fractions:
        with np.errstate(over="ignore", invalid="ignore"):
            numbers = np.round(numbers * 1e6)
    is_invalid = ~(np.abs(numbers) < MAX_TIME)
    values = np.where(is_invalid, 0, numbers).astype(np.int64)
    if has_fractions:
        return values, is_invalid
    texts = compute.utf8_trim_whitespace(texts)
    is_exact = matches(texts, r"^-?\d{1,19}$") & ~is_invalid
    return np.where(is_exact, np.asarray(compute.if_else(is_exact, texts, "0").cast("int64")), values), is_invalid
