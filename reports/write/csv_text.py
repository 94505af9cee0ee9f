"""CSV that `pandas.read_csv`, R and spreadsheets read without options: a header and rows only."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from reports.read.differences import describe


def csv_text(frame: pd.DataFrame, labels: Sequence[str] = ()) -> str:
    """Return a table as CSV; several values in a cell, such as seeds, are separated by spaces: 0 1 2.

    A configuration is written as `name=value, name=value`.

    The labels of the data are a column, so that they stay with the numbers.
    """
    cells = frame.map(_cell)
    if labels:
        cells = cells.assign(data_label="; ".join(labels))
    return cells.to_csv(index=False, lineterminator="\n")


def _cell(value: Any) -> Any:
    if isinstance(value, Mapping):
        return describe(value, value)
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else value
