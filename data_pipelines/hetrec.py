"""What the archives of HetRec 2011 have in common: tables of items and of tags, separated by tabs."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from data_pipelines.archive import Archive
from data_pipelines.data_set import unique_ids
from data_pipelines.text_tables import read_tab_rows, whole_number
from data_pipelines.words import split_into_words


def read_items(archive: Archive, member: str, columns: Sequence[str], *, free_text: str) -> NDArray[np.int64]:
    """Return the ids of a table of items, sorted; its first column is the id."""
    rows = read_tab_rows(archive, member, columns, free_text=free_text)
    return unique_ids([whole_number(fields[0], member, line, columns[0]) for line, fields in rows], member)


def read_tags(archive: Archive, member: str, columns: Sequence[str]) -> tuple[NDArray[np.int64], list[list[str]]]:
    """Return the ids of a table of tags, sorted, and the words of each; its columns are id and text."""
    tags = [
        (whole_number(fields[0], member, line, columns[0]), split_into_words(fields[1]))
        for line, fields in read_tab_rows(archive, member, columns, free_text=columns[1])
    ]
    return unique_ids([tag for tag, _ in tags], member), [words for _, words in sorted(tags)]
