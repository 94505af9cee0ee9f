"""The data that a user names: a prepared data set, or a CSV or Parquet file, which is imported on the fly."""

from pathlib import Path

from benchmark.answers.given_stream import data_set_spec
from data_pipelines.prepare.imported import import_table
from data_pipelines.prepare.prepared import DEFAULT_ARMS
from data_pipelines.stream_spec import DatasetSpec
from data_pipelines.support.messages import one_line

SUFFIXES = (".csv", ".tsv", ".txt", ".parquet", ".gz", ".xlsx", ".json")
MIN_ARMS = 2


def is_file_name(text: str) -> bool:
    """Whether a text looks like the path of a file and not like the name of a data set."""
    return "/" in text or text.lower().endswith(SUFFIXES) or Path(text).is_file()


def data_from(text: str) -> DatasetSpec:
    """Return the specification of a prepared data set, or of a file that is imported now.

    A file is imported once: the same file gives the same data set.
    """
    if not is_file_name(text):
        return data_set_spec(text)
    path = Path(text).expanduser()
    if not path.exists():
        raise ValueError(one_line(f"data must be a prepared data set or a file, got {text!r}: no such file"))
    imported = import_table(path)
    arms = min(imported.profile.max_arms, DEFAULT_ARMS)
    if arms < MIN_ARMS:
        raise ValueError(one_line(f"{text}: one user took every item, so no pool has an item that was not taken"))
    return data_set_spec(imported.name, arms=arms)
