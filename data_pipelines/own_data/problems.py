"""Rows that cannot be used: counted by kind, with examples; refused together or left out together."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from data_pipelines.support.messages import one_line
from data_pipelines.support.text import number_of

EXAMPLES = 3
MAX_SHOWN = 40
SKIP_OPTION = "--skip-bad-rows"


@dataclass(frozen=True)
class Problem:
    """One kind of bad rows of one file; `examples` are (number of the row or line from 1, value), at most three."""

    path: Path
    requirement: str
    """The rule that the rows violate, such as `user must be an id`."""
    count: int
    examples: tuple[tuple[int, str], ...]
    unit: Literal["row", "line"] = "row"
    """What the numbers of the examples count: rows of data, or lines of the file with its header."""

    def line(self) -> str:
        """Return the problem with its first example, without the file."""
        number, value = self.examples[0]
        return one_line(f"{self.unit} {number}: {self.requirement}, got {value} ({number_of(self.count, 'row')})")

    def summary(self) -> str:
        """Return the count and the examples, for a report of the rows that are left out."""
        examples = ", ".join(f"{value} ({self.unit} {number})" for number, value in self.examples)
        more = ", …" if self.count > len(self.examples) else ""
        count = number_of(self.count, "row")
        return one_line(f"{count} of {self.path.name}: {self.requirement}, got {examples}{more}")


class BadRowsError(ValueError):
    """Raised for tables with bad rows; the message has all kinds of problems in one line."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        kinds = "; ".join(f"{problem.path} {problem.line()}" for problem in problems)
        super().__init__(one_line(f"{kinds}; {SKIP_OPTION} leaves such rows out"))

    def lines(self) -> list[str]:
        """Return the message in several lines: one per file and one per kind of problem."""
        lines = []
        for path in dict.fromkeys(problem.path for problem in self.problems):
            lines.append(one_line(f"{path} has bad rows ({SKIP_OPTION} leaves them out):"))
            lines += [f"  {problem.line()}" for problem in self.problems if problem.path == path]
        return lines


def shown(value: str) -> str:
    """Return a value for a message."""
    if not value.strip():
        return "an empty field"
    return repr(value) if len(value) <= MAX_SHOWN else f"{value[:MAX_SHOWN]!r}, {len(value):,} characters"


def find_problem(
    path: Path, requirement: str, is_bad: NDArray[np.bool_], values: Sequence[str], codes: NDArray[np.int32]
) -> Problem | None:
    """Return the problem of the rows for which `is_bad` is true, or None; `values[codes]` are their values."""
    rows = np.flatnonzero(is_bad)
    if not len(rows):
        return None
    examples = tuple((int(row) + 1, shown(values[codes[row]])) for row in rows[:EXAMPLES])
    return Problem(path, requirement, len(rows), examples)
