"""Parquet tables of whole numbers inside an archive."""

import io
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from data_pipelines.fetch.archive import Archive, ArchiveError
from data_pipelines.support.messages import one_line

MAX_ROWS = 100_000_000
"""A few kilobytes of Parquet can encode any number of rows."""


def read_parquet_numbers(archive: Archive, member: str, columns: Sequence[str]) -> dict[str, NDArray[np.int64]]:
    """Return some columns of a Parquet member; each must contain whole numbers, none missing."""
    import pyarrow
    import pyarrow.parquet as parquet

    content = archive.read(member)
    try:
        with parquet.ParquetFile(io.BytesIO(content)) as file:
            if file.metadata.num_rows > MAX_ROWS:
                raise ArchiveError(f"{member} must have at most {MAX_ROWS:,} rows, got {file.metadata.num_rows:,}")
            if missing := [name for name in columns if name not in file.schema_arrow.names]:
                raise ArchiveError(f"{member} has no column {missing[0]!r}")
            table = file.read(columns=list(columns))
    except (pyarrow.ArrowException, OSError) as error:
        raise ArchiveError(one_line(f"{member} is not a readable Parquet file: {str(error)[:300]}")) from None
    return {name: _whole_numbers(table[name], member, name) for name in columns}


def _whole_numbers(column: object, member: str, name: str) -> NDArray[np.int64]:
    values = np.asarray(column)
    if values.dtype != np.int64:  # missing values would make it floating-point
        raise ArchiveError(f"{member}: {name} must contain whole numbers, got {values.dtype}")
    return values
