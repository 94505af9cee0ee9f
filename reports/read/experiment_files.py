"""Title, streams and purpose of an experiment, from its file if it is shipped."""

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

import pandas as pd

from benchmark.plan.experiment import experiment_names, load_experiment
from benchmark.plan.plan import stream_names


class About(NamedTuple):
    """Title and description of an experiment."""

    title: str
    description: str = ""


def about_experiment(name: str) -> About:
    """Return title and description of a shipped experiment; the title of any other is its name."""
    if name not in experiment_names():
        return About(name)
    experiment = load_experiment(name)
    return About(experiment.title, experiment.description)


def about_from_note(name: str, note: str) -> About:
    """Return title and description of a user's experiment, from the note that its MLflow experiment has."""
    title, has_break, description = note.partition("\n\n")
    if not has_break:
        title, _, description = note.partition(". ")
    return About(" ".join(title.replace("**", "").split()) or name, " ".join(description.split()))


@cache
def effects_of(name: str) -> tuple[str, ...]:
    """Return the settings whose effect a study measures; none if the experiment is not a study."""
    return tuple(load_experiment(name).effects_of) if name in experiment_names() else ()


@cache
def words_of(name: str) -> Mapping[str, Mapping[str, str]]:
    """Return the words of a shipped experiment for the values of its options."""
    return load_experiment(name).words if name in experiment_names() else {}


@cache
def fallback_label(name: str, dataset: str) -> str:
    """Return the notice of a data set that a shipped experiment uses instead of another; empty if it does not."""
    return load_experiment(name).fallback_labels.get(dataset, "") if name in experiment_names() else ""


@cache
def datasets_of(name: str) -> tuple[str, ...]:
    """Return the streams of a shipped experiment; those of any other are unknown."""
    return tuple(stream_names(load_experiment(name))) if name in experiment_names() else ()


def stream_in_name(experiment: str, stream: str, streams: "pd.Series[str]") -> bool:
    """Return whether outputs of an experiment on a stream have the stream in their name.

    They have not on its only stream, nor on the first stream of its file unless it is a study: that is the figure
    itself, and the others are its variants.
    """
    if streams.nunique() == 1:
        return False
    return bool(effects_of(experiment)) or stream != next(iter(datasets_of(experiment)), None)
