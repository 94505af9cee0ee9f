"""The title of an experiment: what its file says, or its name."""

from benchmark.experiment import experiment_names, load_experiment


def experiment_title(name: str) -> str:
    """Return the title of an experiment that is shipped; of any other its name."""
    return load_experiment(name).title if name in experiment_names() else name
