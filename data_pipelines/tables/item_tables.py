"""Tab-separated tables of items or tags: their ids, and the words of their texts."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from data_pipelines.data_set import unique_ids
from data_pipelines.fetch.archive import Archive
from data_pipelines.prepare.words import split_into_words
from data_pipelines.tables.text_tables import read_tab_rows, whole_number


def read_ids(archive: Archive, member: str, columns: Sequence[str], *, free_text: str) -> NDArray[np.int64]:
    """Return the ids of a table, sorted; the first column is the id, and `free_text` may contain tabs."""
    rows = read_tab_rows(archive, member, columns, free_text=free_text)
    return unique_ids([whole_number(fields[0], member, line, columns[0]) for line, fields in rows], member)


def read_texts(
    archive: Archive, member: str, columns: Sequence[str], *, split: Callable[[str], list[str]] = split_into_words
) -> tuple[NDArray[np.int64], list[list[str]]]:
    """Return the sorted ids of a table with the columns id and text, and the words of each text."""
    texts = [
        (whole_number(fields[0], member, line, columns[0]), split(fields[1]))
        for line, fields in read_tab_rows(archive, member, columns, free_text=columns[1])
    ]
    return unique_ids([identifier for identifier, _ in texts], member), [words for _, words in sorted(texts)]
