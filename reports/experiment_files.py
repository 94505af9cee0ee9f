"""What an experiment's file says of it, if it is shipped."""

from functools import cache

from benchmark.experiment import experiment_names, load_experiment
from benchmark.plan import stream_names


def experiment_title(name: str) -> str:
    """Return the title of an experiment that is shipped; of any other its name."""
    return load_experiment(name).title if name in experiment_names() else name


@cache
def effects_of(name: str) -> tuple[str, ...]:
    """Return the settings whose effect a study is about; none if it is about who is best."""
    return tuple(load_experiment(name).effects_of) if name in experiment_names() else ()


@cache
def datasets_of(name: str) -> tuple[str, ...]:
    """Return the streams of an experiment that is shipped; of any other none are known."""
    return tuple(stream_names(load_experiment(name))) if name in experiment_names() else ()
