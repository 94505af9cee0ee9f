"""The available data sets: every `DataSet` in a module of `data_pipelines/datasets/`."""

import importlib
import pkgutil
from collections.abc import Mapping

from data_pipelines import datasets
from data_pipelines.data_set import DataSet
from data_pipelines.support.messages import did_you_mean, one_line

SUB_COMMANDS = ("import", "show")
"""Words that can follow `fedbandit data` instead of the name of a data set."""

SIMULATIONS = {
    "simulated-uniform": "Simulation, uniform clients",
    "simulated-non-uniform": "Simulation, clients from a flat Dirichlet draw",
    "simulated-uniform-weights": "Simulation, clients with uniform weights",
    "simulated-zipf": "Simulation, Zipf clients (exponent 1)",
    "simulated-zipf-2": "Simulation, Zipf clients (exponent 2)",
}
"""Labels of simulated streams, by the name in their specification."""


def data_sets() -> dict[str, DataSet]:
    """Return all data sets by name, in alphabetical order."""
    names = (f"{datasets.__name__}.{module.name}" for module in pkgutil.iter_modules(datasets.__path__))
    values = (value for name in names for value in vars(importlib.import_module(name)).values())
    declared = {value.name: value for value in values if isinstance(value, DataSet)}
    return dict(sorted(declared.items()))


def data_set_names() -> list[str]:
    """Return the names of all data sets, in alphabetical order."""
    return [*data_sets()]


def find_data_set(name: str) -> DataSet:
    """Return the declaration of a data set."""
    known = data_sets()
    if name.replace("_", "-") not in known:
        hint = did_you_mean(name, (*known, *SUB_COMMANDS))
        raise ValueError(one_line(f"data set must be one of {', '.join(known)}, got {name!r}{hint}"))
    return known[name.replace("_", "-")]


def stream_label(name: str) -> str:
    """Return the label of a data set or simulation; an imported data set has none and keeps its name."""
    if name in SIMULATIONS:
        return SIMULATIONS[name]
    known = data_sets()
    return known[name].label if name in known else name


def stream_defaults(name: str) -> Mapping[str, str]:
    """Return the stream options in which a data set differs from the others; none for an imported data set."""
    known = data_sets()
    return known[name].stream_defaults if name in known else {}
