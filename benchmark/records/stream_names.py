"""The names of streams: for grouping, and for people."""

from benchmark.records.record import StreamRecord
from data_pipelines.data_set import stream_label

TASKS = {"-matched": "popularity-matched pools", "-rated": "rated items only", "-once": "each pair once"}
"""Endings of the names of streams, see `stream_name`."""

TASK_OPTIONS = {("negatives", "popularity"): "matched", ("pools", "rated"): "rated", ("repeats", "once"): "once"}
"""Options of a stream that make it another task, and how they are written in its name."""


def stream_name(stream: StreamRecord) -> str:
    """Return the name of a stream: its data set, and options with which it is another task, such as lastfm-matched.

    Streams of different names are never in one curve, one ranking or one mean.
    """
    suffixes = (suffix for (name, value), suffix in TASK_OPTIONS.items() if stream.options.get(name) == value)
    return "-".join([stream.name, *suffixes])


def dataset_label(name: str) -> str:
    """Return a readable name of a data set or of a stream, with the options that make it another task."""
    label = stream_label(name)
    for ending, task in TASKS.items():
        if label == name and name.endswith(ending):
            return f"{dataset_label(name.removesuffix(ending))}, {task}"
    return label
