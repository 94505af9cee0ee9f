"""The names of streams: for grouping, and for people."""

from benchmark.records.record import StreamRecord

DATASETS = {
    "lastfm": "LastFM",
    "delicious": "Delicious",
    "movielens": "MovieLens",
    "movielens-1m": "MovieLens 1M",
    "online-retail": "Online Retail",
    "lastfm-tagged": "LastFM, tagging events (as in the paper)",
    "delicious-tagged": "Delicious, tagging events (as in the paper)",
    "lastfm-tagged-own-words": "LastFM, half of the users, their own words included",
    "lastfm-tagged-other-words": "LastFM, half of the users, words of the others only",
    "simulated-uniform": "Simulation, uniform clients",
    "simulated-non-uniform": "Simulation, clients from a flat Dirichlet draw",
    "simulated-uniform-weights": "Simulation, clients with uniform weights",
    "simulated-zipf": "Simulation, Zipf clients (exponent 1)",
    "simulated-zipf-2": "Simulation, Zipf clients (exponent 2)",
}
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
    for ending, task in TASKS.items():
        if name.endswith(ending) and name not in DATASETS:
            return f"{dataset_label(name.removesuffix(ending))}, {task}"
    return DATASETS.get(name, name)
