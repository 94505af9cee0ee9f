"""From the user's tables to `Contents`, the same structure as that of an archive, and a profile."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from data_pipelines.data_set import UNKNOWN_TIME, Contents, rows_in_order
from data_pipelines.own_data import item_features
from data_pipelines.own_data.options import (
    ID,
    ITEM,
    TIME,
    USER,
    WORDS,
    Features,
    ImportOptions,
    Role,
    find_column,
    require_column,
)
from data_pipelines.own_data.profile import Profile, describe_times, profile_contents
from data_pipelines.own_data.table import (
    BadRowsError,
    Column,
    Header,
    OptionNeededError,
    Problem,
    Table,
    find_problem,
    read_columns,
    read_header,
    with_lines,
)
from data_pipelines.own_data.values import ISO, NUMBER, Times, id_problems, parse_numbers, parse_times, stored_ids
from data_pipelines.prepare.features import WordCounts, split_into_words, words_of_items
from data_pipelines.support.text import number_of

RATING = Role("rating", "--rating-column", "rating", frozenset())


@dataclass(frozen=True, kw_only=True)
class OwnData:
    """The content of the user's tables, how they were read, and a profile."""

    contents: Contents
    profile: Profile
    features: Features
    columns: dict[str, str | list[str] | None]
    """The column of each role, for the manifest."""
    formats: dict[str, dict[str, str]]
    """How each file differs from a plain CSV file, for the manifest."""


def read_own_data(interactions: Path, options: ImportOptions) -> OwnData:
    """Read the table of interactions and, if there is one, that of items."""
    options.check()
    return _Reader(interactions, options).read()


@dataclass(frozen=True)
class _Columns:
    """The columns of the interactions, and the columns with words, of either table."""

    user: str
    item: str
    time: str | None
    rating: str | None
    id: str | None
    words: tuple[str, ...]


@dataclass(frozen=True)
class _Items:
    """The catalogue: sorted ids as texts and their rows in the table of items."""

    texts: list[str]
    rows: NDArray[np.int64]


class _Reader:
    """Reads the tables step by step, and collects the problems of both before it refuses them."""

    def __init__(self, interactions: Path, options: ImportOptions) -> None:
        self._options = options
        self._path = interactions
        self._header = self._read_header(interactions)
        self._item_header = None if options.items is None else self._read_header(options.items)
        self._columns = self._find_columns()
        self._problems: list[Problem] = []
        self._decimal = options.decimal or "."

    def _read_header(self, path: Path) -> Header:
        return read_header(path, encoding=self._options.encoding, separator=self._options.separator)

    def _find_columns(self) -> _Columns:
        options, names = self._options, self._header.names
        user = require_column(self._path, names, USER, options.user_column)
        item = require_column(self._path, names, ITEM, options.item_column)
        time = find_column(self._path, names, TIME, options.time_column)
        rating = options.rating_column and require_column(self._path, names, RATING, options.rating_column)
        used = [name for name in (user, item, time, rating) if name]
        if len(set(used)) < len(used):
            raise ValueError(f"user, item, time and rating must be different columns, got {', '.join(used)}")
        return _Columns(user, item, time, rating, self._find_id(item), self._find_words())

    def _find_id(self, item: str) -> str | None:
        header = self._item_header
        if header is None:
            return None
        given = self._options.id_column
        if given is None and ID.default not in header.names and item in header.names:
            return item
        return require_column(header.path, header.names, ID, given)

    def _find_words(self) -> tuple[str, ...]:
        """Return the columns with words: of the items, if there is such a table, else of the interactions."""
        options, header = self._options, self._item_header or self._header
        if options.features not in (None, "words"):
            return ()
        if options.words_column is not None:
            return tuple(require_column(header.path, header.names, WORDS, name) for name in options.words_column)
        if self._item_header is not None or options.features == "words":
            return (require_column(header.path, header.names, WORDS, None),)
        name = find_column(header.path, header.names, WORDS, None)
        return () if name is None else (name,)

    @cached_property
    def _features(self) -> Features:
        return self._options.features or ("words" if self._columns.words else "co-occurrence")

    def read(self) -> OwnData:
        """Read everything."""
        table, item_table = self._read_tables()
        is_bad = _is_malformed(table)
        self._problems += table.problems
        users, items = table.columns[self._columns.user], table.columns[self._columns.item]
        is_bad |= self._bad_ids(table, users) | self._bad_ids(table, items)
        catalogue = self._catalogue(item_table)
        if catalogue is not None:
            is_bad |= self._unknown_items(table, items, catalogue)
        times, bad_times = self._times(table)
        ratings, bad_ratings = self._ratings(table)
        is_bad |= bad_times | bad_ratings
        if self._problems and not self._options.skip_bad_rows:
            raise BadRowsError(self._with_lines())
        self._problems = self._with_lines()
        rows = np.flatnonzero(~is_bad)
        if not len(rows):
            raise ValueError(f"{self._path} has no usable row: {self._problems[0].line()}")
        return self._assemble(table, item_table, catalogue or _items_of(items, rows), rows, times, ratings)

    def _with_lines(self) -> list[Problem]:
        headers = {header.path: header for header in (self._header, self._item_header) if header is not None}
        return [with_lines(problem, headers[problem.path]) for problem in self._problems]

    def _read_tables(self) -> tuple[Table, Table | None]:
        columns, item_header = self._columns, self._item_header
        names = [name for name in (columns.user, columns.item, columns.time, columns.rating) if name]
        if item_header is None:
            return read_columns(self._header, [*names, *columns.words]), None
        return read_columns(self._header, names), read_columns(item_header, [str(columns.id), *columns.words])

    def _bad_ids(self, table: Table, column: Column) -> NDArray[np.bool_]:
        is_bad = np.zeros(table.row_count, dtype=bool)
        for bad_rows, problem in id_problems(table.path, column, _is_malformed(table)):
            is_bad |= bad_rows
            self._problems.append(problem)
        return is_bad

    def _catalogue(self, table: Table | None) -> _Items | None:
        """Return the items of the table of items; a repeated id is a problem, and only its first row is used."""
        if table is None:
            return None
        column = table.columns[str(self._columns.id)]
        self._problems += table.problems
        is_good = ~(_is_malformed(table) | self._bad_ids(table, column))
        good_rows = np.flatnonzero(is_good)
        _, first = np.unique(column.codes[good_rows], return_index=True)
        is_again = is_good.copy()
        is_again[good_rows[first]] = False
        requirement = f"{column.name} must not be an item of an earlier row"
        if problem := find_problem(table.path, requirement, is_again, column.values, column.codes):
            self._problems.append(problem)
        if not len(first):
            raise BadRowsError(self._with_lines())
        return _items_of(column, good_rows[first])

    def _unknown_items(self, table: Table, column: Column, catalogue: _Items) -> NDArray[np.bool_]:
        known_items = set(catalogue.texts)
        is_id = np.ones(table.row_count, dtype=bool)
        for bad_rows, _ in id_problems(table.path, column, _is_malformed(table)):
            is_id &= ~bad_rows
        unknown_values = np.array([value not in known_items for value in column.values], dtype=bool)
        is_unknown = unknown_values[column.codes] & is_id & ~_is_malformed(table)
        requirement = f"{column.name} must be an item of {self._options.items}"
        if problem := find_problem(table.path, requirement, is_unknown, column.values, column.codes):
            self._problems.append(problem)
        return is_unknown

    def _times(self, table: Table) -> tuple["_RowTimes", NDArray[np.bool_]]:
        if self._columns.time is None:
            unknown_times = np.full(table.row_count, UNKNOWN_TIME, dtype=np.int64)
            return _RowTimes(unknown_times, None), np.zeros(table.row_count, dtype=bool)
        column = table.columns[self._columns.time]
        try:
            times = parse_times(column.values, self._options.date_format, self._options.decimal)
        except ValueError as error:
            raise OptionNeededError(f"{table.path} column {column.name!r}: {error}") from None
        is_bad = times.is_invalid[column.codes]
        requirement = f"{column.name} must be {_time_requirement(times)}"
        if problem := find_problem(table.path, requirement, is_bad, column.values, column.codes):
            self._problems.append(problem)
        return _RowTimes(times.values[column.codes], times), is_bad

    def _ratings(self, table: Table) -> tuple[NDArray[np.float64] | None, NDArray[np.bool_]]:
        """Return the rating of each row, NaN where it is empty; a text that is not a finite number is a problem."""
        if self._columns.rating is None:
            return None, np.zeros(table.row_count, dtype=bool)
        column = table.columns[self._columns.rating]
        try:
            numbers = parse_numbers(column.values, self._options.decimal)
        except ValueError as error:
            raise OptionNeededError(f"{table.path} column {column.name!r}: {error}") from None
        self._decimal = numbers.decimal
        is_blank = np.array([not value.strip() for value in column.values], dtype=bool)
        is_bad = (~np.isfinite(numbers.values) & ~is_blank)[column.codes]
        requirement = f"{column.name} must be a number"
        if problem := find_problem(table.path, requirement, is_bad, column.values, column.codes):
            self._problems.append(problem)
        return np.where(is_blank, np.nan, numbers.values)[column.codes], is_bad

    def _assemble(
        self,
        table: Table,
        item_table: Table | None,
        catalogue: _Items,
        rows: NDArray[np.int64],
        times: "_RowTimes",
        ratings: NDArray[np.float64] | None,
    ) -> OwnData:
        """Sort the usable rows into `Contents`."""
        item_ids, item_rows = _sorted_ids(table.columns[self._columns.item], rows, catalogue)
        labels, user_rows = _sorted_ids(table.columns[self._columns.user], rows, None)
        are_numbers = labels.dtype.kind == "i"
        users = labels[user_rows] if are_numbers else user_rows
        order = rows_in_order(users, item_rows, times.values[rows], once=self._options.repeats == "once")
        distinct = rows_in_order(users, item_rows, times.values[rows], once=True)
        repeats = len(rows) - len(distinct)
        words = self._words(table, item_table, catalogue, rows, item_rows, user_rows, item_ids, labels)
        contents = Contents(
            users=users[order],
            items=item_rows[order].astype(np.int32),
            times=times.values[rows][order],
            item_ids=item_ids,
            words=words,
            rows={"interactions": table.row_count} | ({} if item_table is None else {"items": item_table.row_count}),
            notes=tuple(self._notes(times.values[rows], repeats)),
            user_labels=None if are_numbers else labels,
            ratings=None if ratings is None else ratings[rows][order],
        )
        return OwnData(
            contents=contents,
            profile=self._profile(contents, table, len(rows), repeats, times),
            features=self._features,
            columns=self._column_parameters(),
            formats=self._formats(times),
        )

    def _words(
        self,
        table: Table,
        item_table: Table | None,
        catalogue: _Items,
        rows: NDArray[np.int64],
        item_rows: NDArray[np.int64],
        user_rows: NDArray[np.int64],
        item_ids: NDArray[Any],
        labels: NDArray[Any],
    ) -> WordCounts:
        if self._features == "one-hot":
            return item_features.one_hot_words(item_ids)
        if self._features == "co-occurrence":
            names = [str(label) for label in labels.tolist()]
            return item_features.words_of_users(item_rows, user_rows, item_count=len(item_ids), labels=names)
        columns = [(item_table or table).columns[name] for name in self._columns.words]
        if item_table is None:
            texts = item_features.frequent_texts(columns, rows, item_rows, len(item_ids))
        else:
            order = np.argsort(stored_ids(catalogue.texts), kind="stable")
            parts = [[column.values[column.codes[row]] for row in catalogue.rows[order]] for column in columns]
            texts = [" ".join(values) for values in zip(*parts, strict=True)]
        return words_of_items([split_into_words(text) for text in texts])

    def _notes(self, times: NDArray[np.int64], repeats: int) -> list[str]:
        notes = [f"{number_of(problem.count, 'bad row')} left out: {problem.requirement}" for problem in self._problems]
        missing = int(np.count_nonzero(times == UNKNOWN_TIME))
        if self._columns.time is None:
            notes.append("no time column: interactions are put in random order")
        elif missing:
            notes.append(f"{number_of(missing, 'interaction')} without a time: put in random order")
        if repeats:
            fate = "counted once" if self._options.repeats == "once" else "kept"
            notes.append(f"{number_of(repeats, 'repeated interaction')} (same user and item): {fate}")
        return notes

    def _profile(self, contents: Contents, table: Table, good_rows: int, repeats: int, times: "_RowTimes") -> Profile:
        headers = [self._header, *([] if self._item_header is None else [self._item_header])]
        return profile_contents(
            contents,
            files=[f"{header.path.name}: {header}" for header in headers],
            columns=self._column_texts(),
            rows=table.row_count,
            bad_rows=table.row_count - good_rows,
            repeats=repeats,
            repeats_are_kept=self._options.repeats == "keep",
            times=times.description(contents.times),
            positive_from=self._options.positive_from,
            features=item_features.KINDS[self._features].profile,
            decimal=self._decimal,
            problems=self._problems,
        )

    def _column_texts(self) -> list[str]:
        options, columns = self._options, self._columns
        given = {
            "user": (columns.user, options.user_column),
            "item": (columns.item, options.item_column),
            "time": (columns.time, options.time_column),
            "rating": (columns.rating, options.rating_column),
            "id": (columns.id, options.id_column),
            "words": (" and ".join(columns.words), options.words_column),
        }
        texts: dict[bool, list[str]] = {is_given: [] for is_given in (True, False)}
        for role, (name, option) in given.items():
            if name:
                texts[option is not None].append(f"{role} {name}")
        recognised = [f"{', '.join(texts[False])} (recognised by name)"] if texts[False] else []
        return [*([", ".join(texts[True])] if texts[True] else []), *recognised]

    def _column_parameters(self) -> dict[str, str | list[str] | None]:
        columns = self._columns
        is_default_time = self._options.time_column is None and columns.time == TIME.default
        parameters: dict[str, str | list[str] | None] = {
            "user": columns.user,
            "item": columns.item,
            "time": None if is_default_time else columns.time,  # recorded as if not given: the data are the same
            "id": columns.id,
            "words": list(columns.words),
        }
        return parameters if columns.rating is None else {**parameters, "rating": columns.rating}

    def _formats(self, times: "_RowTimes") -> dict[str, dict[str, str]]:
        formats: dict[str, dict[str, str]] = {}
        for name, header in (("interactions", self._header), ("items", self._item_header)):
            if header is not None and header.text_format is not None and header.text_format.changes:
                formats[name] = header.text_format.changes
        if times.parsed is not None and times.parsed.date_format not in (NUMBER, ISO):
            formats["times"] = {"date_format": times.parsed.date_format}
        if self._decimal != ".":
            formats["numbers"] = {"decimal": self._decimal}
        return formats


@dataclass(frozen=True)
class _RowTimes:
    """The time of each row, and how it was parsed."""

    values: NDArray[np.int64]
    parsed: Times | None

    def description(self, stored_times: NDArray[np.int64]) -> str:
        """Return the format and range of the times that are stored."""
        if self.parsed is None:
            return "no time column: interactions are put in random order"
        return describe_times(stored_times, self.parsed.date_format, self.parsed.description)


def _is_malformed(table: Table) -> NDArray[np.bool_]:
    is_malformed = np.zeros(table.row_count, dtype=bool)
    is_malformed[table.malformed] = True
    return is_malformed


def _items_of(column: Column, rows: NDArray[np.int64]) -> _Items:
    """Return the distinct ids of some rows, and the first row of each."""
    codes, first = np.unique(column.codes[rows], return_index=True)
    return _Items([column.values[code] for code in codes], rows[first])


def _sorted_ids(
    column: Column, rows: NDArray[np.int64], catalogue: _Items | None
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the sorted ids of a catalogue, or of the rows, and for each row the position of its id among them."""
    texts = (catalogue or _items_of(column, rows)).texts
    ids = stored_ids(texts)
    order = np.argsort(ids, kind="stable")
    position_of = {texts[number]: position for position, number in enumerate(order.tolist())}
    positions = np.array([position_of.get(value, -1) for value in column.values], dtype=np.int64)
    return ids[order], positions[column.codes[rows]]


def _time_requirement(times: Times) -> str:
    if times.date_format == NUMBER:
        return "a number below 9e12"
    if times.date_format == ISO:
        return "a number or a date such as 2024-05-31T12:00:00"
    return f"like the other {times.description}"
