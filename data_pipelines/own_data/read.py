"""From the user's tables to `Contents`, the same structure as that of an archive, and a profile."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from data_pipelines.data_set import UNKNOWN_TIME, Contents
from data_pipelines.own_data import item_features
from data_pipelines.own_data.columns import TIME, find_columns
from data_pipelines.own_data.options import Features, ImportOptions
from data_pipelines.own_data.profile import Profile, describe_ratings, describe_times
from data_pipelines.own_data.table import (
    BadRowsError,
    Column,
    OptionNeededError,
    Problem,
    Table,
    read_columns,
    read_header,
)
from data_pipelines.own_data.values import ISO, NUMBER, Times, bad_ids, is_blank, parse_numbers, parse_times, stored_ids
from data_pipelines.prepare.features import WordCounts, split_into_words, words_of_items
from data_pipelines.support.text import number_of


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


class _Reader:
    """Reads the tables step by step, and collects the problems of both before it refuses them."""

    def __init__(self, interactions: Path, options: ImportOptions) -> None:
        self._options = options
        read = partial(read_header, encoding=options.encoding, separator=options.separator)
        self._header = read(interactions)
        self._item_header = None if options.items is None else read(options.items)
        self._columns = columns = find_columns(self._header, self._item_header, options)
        self._features: Features = options.features or ("words" if columns.words else "co-occurrence")
        numbers = columns.time, columns.rating, columns.quantity
        names = [columns.user, columns.item, *(name for name in numbers if name), *columns.value]
        self._item_table: Table | None = None
        if self._item_header is None:
            names += columns.words
        else:
            self._item_table = read_columns(self._item_header, [str(columns.id), *columns.words])
        self._table = read_columns(self._header, names)
        self._times: Times | None = None
        self._decimal = options.decimal or "."

    @property
    def _keeps_repeats(self) -> bool:
        return self._options.repeats == "keep"

    @property
    def _problems(self) -> list[Problem]:
        return self._table.problems + ([] if self._item_table is None else self._item_table.problems)

    def read(self) -> OwnData:
        """Check all values, refuse bad rows or leave them out, and sort the others into `Contents`."""
        table, options = self._table, self._options
        users, items = table.columns[self._columns.user], table.columns[self._columns.item]
        _reject_bad_ids(table, users)
        bad_items = _reject_bad_ids(table, items)
        catalogue = None if self._item_table is None else self._catalogue(self._item_table)
        if catalogue is not None:
            is_unknown = (_positions(items.values, catalogue) < 0) & ~bad_items
            table.reject(items, f"be an item of {options.items}", is_unknown[items.codes])
        times, ratings = self._parse_times(), self._parse_ratings()
        self._reject_returns()
        values = self._parse_values()
        if self._problems and not options.skip_bad_rows:
            raise BadRowsError(self._problems)
        rows = np.flatnonzero(~table.is_bad)
        if not len(rows):
            raise ValueError(f"{table.header.path} has no usable row: {self._problems[0].line()}")
        item_texts = _used_texts(items, rows) if catalogue is None else catalogue
        numbers = (None if each is None else each[rows] for each in (ratings, values))
        return self._assemble(rows, item_texts, times[rows], *numbers)

    def _catalogue(self, table: Table) -> Any:
        """Return the ids of the table of items; a repeated id is a problem, and only its first row is used."""
        column = table.columns[str(self._columns.id)]
        _reject_bad_ids(table, column)
        good_rows = np.flatnonzero(~table.is_bad)
        _, first = np.unique(column.codes[good_rows], return_index=True)
        is_again = ~table.is_bad
        is_again[good_rows[first]] = False
        table.reject(column, "not be an item of an earlier row", is_again)
        if not len(first):
            raise BadRowsError(self._problems)
        return column.values.take(column.codes[~table.is_bad])

    def _parse_times(self) -> NDArray[np.int64]:
        """Return the time of each row; a text that is not a time is a problem."""
        if self._columns.time is None:
            return np.full(len(self._table.is_bad), UNKNOWN_TIME, dtype=np.int64)
        column = self._table.columns[self._columns.time]
        with self._naming(column):
            times = parse_times(column.values, self._options.date_format, self._options.decimal)
        self._table.reject(column, f"be {times.requirement}", times.is_invalid[column.codes])
        self._times = times
        return times.values[column.codes]

    def _parse_ratings(self) -> NDArray[np.float64] | None:
        """Return the rating of each row, NaN where it is empty; a text that is not a finite number is a problem."""
        if self._columns.rating is None:
            return None
        column = self._table.columns[self._columns.rating]
        with self._naming(column):
            numbers, self._decimal = parse_numbers(column.values, self._options.decimal)
        is_bad = ~np.isfinite(numbers) & ~is_blank(column.values)
        self._table.reject(column, "be a number", is_bad[column.codes])
        return numbers[column.codes]

    def _reject_returns(self) -> None:
        """Mark rows without a positive quantity as bad: they are not purchases."""
        if self._columns.quantity is None:
            return
        column = self._table.columns[self._columns.quantity]
        with self._naming(column):
            numbers, _ = parse_numbers(column.values, self._options.decimal)
        self._table.reject(column, "be above 0 (other rows are returns)", ~(numbers > 0)[column.codes])

    def _parse_values(self) -> NDArray[np.float64] | None:
        """Return what each row is worth; a row without a number from 0 is a problem, unless it is a bad row already."""
        if not self._columns.value:
            return None
        total = np.ones(len(self._table.is_bad))
        for name in self._columns.value:
            column = self._table.columns[name]
            with self._naming(column):
                numbers, _ = parse_numbers(column.values, self._options.decimal)
            is_bad = ~(np.isfinite(numbers) & (numbers >= 0))[column.codes]
            self._table.reject(column, "be a number from 0 (it is a value)", is_bad & ~self._table.is_bad)
            total *= numbers[column.codes]
        return total

    @contextmanager
    def _naming(self, column: Column) -> Iterator[None]:
        """Name file and column in an error about all values of the column."""
        try:
            yield
        except ValueError as error:
            raise OptionNeededError(f"{self._header.path} column {column.name!r}: {error}") from None

    def _assemble(
        self,
        rows: NDArray[np.int64],
        item_texts: Any,
        times: NDArray[np.int64],
        ratings: NDArray[np.float64] | None,
        values: NDArray[np.float64] | None,
    ) -> OwnData:
        """Sort the usable rows into `Contents`; `times`, `ratings` and `values` are those of these rows."""
        user_column, item_column = (self._table.columns[name] for name in (self._columns.user, self._columns.item))
        labels, user_texts = _sorted_ids(_used_texts(user_column, rows))
        item_ids, item_texts = _sorted_ids(item_texts)
        user_rows = _positions(user_column.values, user_texts)[user_column.codes[rows]]
        items = _positions(item_column.values, item_texts)[item_column.codes[rows]]
        are_numbers = labels.dtype.kind == "i"
        users = labels[user_rows] if are_numbers else user_rows
        words = self._words(rows, item_texts, items, user_rows, user_texts)
        order = np.lexsort((times, times == UNKNOWN_TIME, items, users))
        is_repeat = np.append(False, (np.diff(users[order]) == 0) & (np.diff(items[order]) == 0))
        repeats = int(np.count_nonzero(is_repeat))
        is_same_time = np.append(False, np.diff(times[order]) == 0) & (times[order] != UNKNOWN_TIME)
        duplicates = int(np.count_nonzero(is_repeat & is_same_time))
        if not self._keeps_repeats:
            order = order[~is_repeat]
        tables = {"interactions": self._table, "items": self._item_table}
        contents = Contents(
            users=users[order],
            items=items[order].astype(np.int32),
            times=times[order],
            item_ids=item_ids,
            words=words,
            rows={name: table.row_count for name, table in tables.items() if table is not None},
            notes=tuple(self._notes(times, repeats, duplicates)),
            user_labels=None if are_numbers else labels,
            ratings=None if ratings is None else ratings[order],
            values=None if values is None else values[order],
        )
        headers = [header for header in (self._header, self._item_header) if header is not None]
        profile = Profile.of(
            contents,
            files=tuple(f"{header.path.name}: {header}" for header in headers),
            columns=(*self._column_texts(), *self._columns.proposals),
            rows=self._table.row_count,
            bad_rows=self._table.row_count - len(rows),
            repeats=repeats,
            duplicates=duplicates,
            repeats_are_kept=self._keeps_repeats,
            times=describe_times(contents.times, self._times),
            ratings=describe_ratings(contents.ratings, self._options.positive_from, self._decimal),
            features=item_features.KINDS[self._features].profile,
            problems=tuple(self._problems),
        )
        return OwnData(
            contents=contents,
            profile=profile,
            features=self._features,
            columns=self._column_parameters(),
            formats=self._formats(),
        )

    def _words(
        self,
        rows: NDArray[np.int64],
        item_texts: Any,
        items: NDArray[np.int64],
        user_rows: NDArray[np.int64],
        user_texts: Any,
    ) -> WordCounts:
        if self._features == "one-hot":
            return item_features.one_hot_words(item_texts.to_pylist())
        if self._features == "co-occurrence":
            names = user_texts.to_pylist()
            return item_features.words_of_users(items, user_rows, item_count=len(item_texts), labels=names)
        if self._item_table is None:
            columns = [self._table.columns[name] for name in self._columns.words]
            texts = [item_features.frequent_text(column, rows, items, len(item_texts)) for column in columns]
        else:
            columns = [self._item_table.columns[name] for name in (str(self._columns.id), *self._columns.words)]
            ids, *parts = (column.values.take(column.codes[~self._item_table.is_bad]) for column in columns)
            texts = [part.take(_positions(item_texts, ids)).to_pylist() for part in parts]
        return words_of_items([split_into_words(" ".join(parts)) for parts in zip(*texts, strict=True)])

    def _notes(self, times: NDArray[np.int64], repeats: int, duplicates: int) -> list[str]:
        notes = [f"{number_of(problem.count, 'bad row')} left out: {problem.requirement}" for problem in self._problems]
        missing = int(np.count_nonzero(times == UNKNOWN_TIME))
        if self._columns.time is None:
            notes.append("no time column: interactions are put in random order")
        elif missing:
            notes.append(f"{number_of(missing, 'interaction')} without a time: put in random order")
        if self._columns.quantity is not None:
            notes.append(f"a row is one interaction, whatever its quantity ({self._columns.quantity})")
        if repeats:
            fate = "kept" if self._keeps_repeats else "counted once"
            notes.append(f"{number_of(repeats, 'repeated interaction')} (same user and item): {fate}")
        if duplicates:
            notes.append(f"{duplicates:,} of the repeats have the same time, too: they may be duplicate rows")
        return [*notes, *self._columns.proposals]

    def _column_texts(self) -> list[str]:
        """Return the columns that were given, and those that were recognised."""
        texts: dict[bool, list[str]] = {True: [], False: []}
        for role, value in self._columns.roles().items():
            name = {"words": " and ", "value": " × "}[role].join(value) if isinstance(value, tuple) else value
            if name:
                texts[getattr(self._options, f"{role}_column") is not None].append(f"{role} {name}")
        given, recognised = ", ".join(texts[True]), ", ".join(texts[False])
        return [*([given] if given else []), *([f"{recognised} (recognised by name)"] if recognised else [])]

    def _column_parameters(self) -> dict[str, str | list[str] | None]:
        parameters = {
            role: [*value] if isinstance(value, tuple) else value for role, value in self._columns.roles().items()
        }
        if self._options.time_column is None and self._columns.time == TIME.default:
            parameters["time"] = None  # recorded as if not given: the data are the same
        return {role: name for role, name in parameters.items() if name or role not in ("rating", "quantity", "value")}

    def _formats(self) -> dict[str, dict[str, str]]:
        formats: dict[str, dict[str, str]] = {}
        for name, header in (("interactions", self._header), ("items", self._item_header)):
            if header is not None and header.changes:
                formats[name] = header.changes
        if self._times is not None and self._times.date_format not in (NUMBER, ISO):
            formats["times"] = {"date_format": self._times.date_format}
        if self._times is not None and (self._times.values == 0).any():
            formats.setdefault("times", {})["zero"] = "known"  # in an earlier import of the file it was unknown
        if self._decimal != ".":
            formats["numbers"] = {"decimal": self._decimal}
        return formats


def _reject_bad_ids(table: Table, column: Column) -> NDArray[np.bool_]:
    """Mark rows without a proper id as bad; return which of the distinct values are not ids."""
    is_bad = np.zeros(len(column.values), dtype=bool)
    for requirement, is_bad_value in bad_ids(column.values).items():
        table.reject(column, f"be {requirement}", is_bad_value[column.codes])
        is_bad |= is_bad_value
    return is_bad


def _used_texts(column: Column, rows: NDArray[np.int64]) -> Any:
    """Return the distinct texts of some rows."""
    return column.values.take(np.flatnonzero(np.bincount(column.codes[rows])))


def _sorted_ids(texts: Any) -> tuple[NDArray[Any], Any]:
    """Return ids in increasing order, and their texts in the same order."""
    ids = stored_ids(texts)
    order = np.argsort(ids, kind="stable")
    return ids[order], texts.take(order)


def _positions(texts: Any, catalogue: Any) -> NDArray[np.int64]:
    """Return the position of each text in a catalogue of distinct texts, -1 where it is unknown."""
    from pyarrow import compute

    return np.asarray(compute.index_in(texts, value_set=catalogue).fill_null(-1)).astype(np.int64)
