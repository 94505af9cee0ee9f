"""Show experiments, algorithms, and data sets with their state.

Example:
  fedbandit list
"""

import argparse
from collections.abc import Sequence


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments: there are none."""


def run(arguments: argparse.Namespace) -> int:
    """Print three short lists."""
    from benchmark.algorithm_names import algorithm_names, find_algorithm, parameter_names
    from benchmark.experiment import experiment_names, load_experiment
    from benchmark.finished import experiments_with_runs
    from benchmark.store import Store
    from data_pipelines.prepared import data_set_states

    finished = experiments_with_runs(Store())
    shipped = {name: load_experiment(name).title for name in experiment_names()}
    own = {name: "(of a file of your own)" for name in sorted(finished) if name not in shipped}
    runs = {name: f"{finished.get(name, 0)} runs finished" for name in (*shipped, *own)}
    _print("experiments (fedbandit run NAME)", [(runs[name], name, title) for name, title in (shipped | own).items()])
    parameters = {name: ", ".join(parameter_names(find_algorithm(name))) for name in algorithm_names()}
    _print("algorithms (--algorithm NAME[parameter=value,…])", list(parameters.items()))
    _print("data sets (in an experiment: dataset = NAME)", list(data_set_states().items()))
    return 0


def _print(title: str, rows: Sequence[tuple[str, ...]]) -> None:
    """Print a list in columns that are as wide as their widest entry."""
    print(title)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  " + "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip())
