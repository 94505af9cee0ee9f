"""Show experiments, algorithms, and data sets with their state.

Example:
  fedbandit list
"""

import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments: there are none."""


def run(arguments: argparse.Namespace) -> int:
    """Print three short lists."""
    from benchmark.algorithm_names import algorithm_names, find_algorithm, parameter_names
    from benchmark.experiment import experiment_names, load_experiment
    from benchmark.finished import finished_runs
    from benchmark.store import Store
    from data_pipelines.prepared import data_set_states

    experiments = [load_experiment(name) for name in experiment_names()]
    finished = finished_runs(Store(), [each.name for each in experiments])
    print("experiments (fedbandit run NAME)")
    for experiment in experiments:
        count = sum(each.experiment == experiment.name for each in finished)
        print(f"  {experiment.name:<20}{experiment.title:<48}{count} runs finished")
    print("algorithms (--algorithm NAME[parameter=value,…])")
    for name in algorithm_names():
        print(f"  {name:<20}{', '.join(parameter_names(find_algorithm(name)))}")
    print("data sets (fedbandit data NAME)")
    for name, state in data_set_states().items():
        print(f"  {name:<20}{state}")
    return 0
