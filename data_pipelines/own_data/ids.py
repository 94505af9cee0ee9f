"""Ids of users and items: which texts are ids, and how they are stored."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from data_pipelines.own_data.problems import Problem, find_problem
from data_pipelines.own_data.table import Column

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
