"""List experiments, tasks, methods, metrics and data sets, and their status.

Example:
  fedbandit list
"""

import argparse
import sys
from collections.abc import Sequence

from data_pipelines.support.text import aligned, number_of

ORDER = 9

ORIGINS = {"board": "(a board)", "compare": "(a comparison)"}
"""What an experiment that is not shipped comes from, by the profile of its sweeps."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments (none)."""


def run(arguments: argparse.Namespace) -> int:
    """Print short lists."""
    from benchmark.board.task import load_task, task_names
    from benchmark.execution.own_metrics import PLUGINS as METRICS
    from benchmark.execution.own_metrics import find_metric
    from benchmark.plan.experiment import experiment_names, load_experiment
    from benchmark.plan.method_names import broken_methods, method_info, method_names
    from benchmark.plan.own_data_sets import PLUGINS as DATA_SETS
    from benchmark.plan.own_data_sets import find_any_data_set
    from benchmark.records.reader import experiments_with_runs, read_sweeps
    from benchmark.records.store import Store
    from data_pipelines.prepare.prepared import data_set_states

    store = Store()
    finished = experiments_with_runs(store)
    built_in = {name: load_experiment(name).title for name in experiment_names()}
    others = [name for name in sorted(finished) if name not in built_in]
    profiles = {experiment: profile for experiment, profile, *_ in (read_sweeps(store.uri) if others else ())}
    own = {name: ORIGINS.get(profiles.get(name, ""), "(from your own TOML file)") for name in others}
    runs = {name: f"{number_of(finished.get(name, 0), 'run')} finished" for name in (*built_in, *own)}
    _print("experiments (fedbandit run NAME)", [(runs[name], name, title) for name, title in (built_in | own).items()])
    _print("tasks (fedbandit board NAME)", [(name, load_task(name).title) for name in task_names()])
    broken = {**broken_methods(), **METRICS.broken(find_metric)}
    broken_data = DATA_SETS.broken(find_any_data_set)
    working = [name for name in method_names() if name not in broken]
    parameters = {name: ", ".join(method_info(name).parameters) for name in working}
    _print("methods (--method NAME[parameter=value,…])", list(parameters.items()))
    metrics = {name: find_metric(name).own.metric.label for name in METRICS.names() if name not in broken}
    if metrics:
        _print("metrics (--metric NAME)", list(metrics.items()))
    installed = [find_any_data_set(name) for name in DATA_SETS.names() if name not in broken_data]
    states = {each.name: f"{each.name} is not prepared; run: fedbandit data {each.known_as}" for each in installed}
    states |= {name: state.text for name, state in data_set_states().items()}
    _print('data sets (in an experiment file: dataset = "NAME")', sorted(states.items()))
    for message in (*broken.values(), *broken_data.values()):
        print(f"warning: {message}", file=sys.stderr)
    return 0


def _print(title: str, rows: Sequence[tuple[str, ...]]) -> None:
    print("\n".join([title, *(f"  {line}" for line in aligned(rows))]))
