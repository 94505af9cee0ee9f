"""The data that a user names: a prepared data set, or a CSV or Parquet file, which is imported on the fly."""

import shlex
from pathlib import Path

from benchmark.answers.given_stream import data_set_spec
from data_pipelines.own_data.options import ImportOptions
from data_pipelines.prepare.imported import import_table
from data_pipelines.prepare.prepared import DEFAULT_ARMS, read_manifest
from data_pipelines.stream_spec import DatasetSpec
from data_pipelines.support.messages import one_line

SUFFIXES = (".csv", ".tsv", ".txt", ".parquet", ".gz", ".xlsx", ".json")
MIN_ARMS = 2
LEAK = "a leak"
"""How the manifest of a data set says that features were made of what is predicted."""


def is_file_name(text: str) -> bool:
    """Whether a text looks like the path of a file and not like the name of a data set."""
    return "/" in text or text.lower().endswith(SUFFIXES) or Path(text).is_file()


def data_from(text: str, options: ImportOptions | None = None, *, max_interactions: int | None = None) -> DatasetSpec:
    """Return the specification of a prepared data set, or of a file that is imported now.

    A file is imported once: the same file gives the same data set. One with more than `max_interactions` is refused.
    Without `options`, the error for a file that needs some names the commands that take them.
    """
    if not is_file_name(text):
        if options is not None and (names := list(options.given())):
            option = f"--{names[0].replace('_', '-')}"
            raise ValueError(one_line(f"{option} must only be used with a CSV or Parquet file, got data {text!r}"))
        return data_set_spec(text)
    path = Path(text).expanduser()
    if not path.exists():
        raise ValueError(one_line(f"data must be a prepared data set or a file, got {text!r}: no such file"))
    try:
        imported = import_table(path, options, min_arms=MIN_ARMS, max_interactions=max_interactions)
    except ValueError as error:
        if options is not None or "--" not in str(error):
            raise
        file = shlex.quote(text)
        commands = f"`fedbandit recommend {file}` and `fedbandit compare METHOD --dataset {file}`"
        raise ValueError(one_line(f"{error} ({commands} take the file with such options)")) from None
    return data_set_spec(imported.name, arms=min(imported.profile.max_arms, DEFAULT_ARMS))


def leak_notices(spec: object) -> tuple[str, ...]:
    """Return the remarks on leaks in the manifest of a data set, to show with every answer on it."""
    if not isinstance(spec, DatasetSpec):
        return ()
    bound = spec.bound()
    remarks = read_manifest(bound.data.folder / bound.dataset)["remarks"]
    return tuple(f"LEAK: {remark}" for remark in remarks if LEAK in remark)
