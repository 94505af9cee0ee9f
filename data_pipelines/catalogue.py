"""The available data sets: every module in `data_pipelines/datasets/`."""

import importlib
import pkgutil
from collections.abc import Mapping

from data_pipelines import datasets
from data_pipelines.data_set import DataSet
from data_pipelines.support.messages import did_you_mean, one_line

SUB_COMMANDS = ("import", "show")
"""Words that can follow `fedbandit data` instead of the name of a data set."""


def data_set_names() -> list[str]:
    """Return the names of all data sets, in alphabetical order."""
    return sorted(module.name.replace("_", "-") for module in pkgutil.iter_modules(datasets.__path__))


def find_data_set(name: str) -> DataSet:
    """Return the declaration of a data set."""
    if name.replace("_", "-") not in data_set_names():
        hint = did_you_mean(name, (*data_set_names(), *SUB_COMMANDS))
        raise ValueError(one_line(f"data set must be one of {', '.join(data_set_names())}, got {name!r}{hint}"))
    data_set: DataSet = importlib.import_module(f"data_pipelines.datasets.{name.replace('-', '_')}").DATA_SET
    return data_set


def stream_defaults(name: str) -> Mapping[str, str]:
    """Return the stream options in which a data set differs from the others; none for an imported data set."""
    return find_data_set(name).stream_defaults if name in data_set_names() else {}
