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


def data_set_states() -> dict[str, str]:
    """Return for each data set its source and size, or that it is not prepared."""
    from data_pipelines.catalogue import data_set_names
    from data_pipelines.prepared import NotPreparedError, data_folder, prepared_names, read_manifest

    states = {}
    for name in sorted({*data_set_names(), *prepared_names()}):
        try:
            manifest = read_manifest(data_folder() / name)
            counts = manifest["counts"]["observed"]
            states[name] = f"ready, {manifest['source']}, {counts['interactions']:,} interactions"
        except NotPreparedError as error:
            states[name] = str(error)
    return states
