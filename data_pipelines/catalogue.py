"""The data sets there are: every module in `data_pipelines/datasets/`."""

import importlib
import pkgutil

from data_pipelines import datasets
from data_pipelines.data_set import DataSet


def data_set_names() -> list[str]:
    """Return the names of all data sets, in alphabetical order."""
    return sorted(module.name for module in pkgutil.iter_modules(datasets.__path__))


def find_data_set(name: str) -> DataSet:
    """Return what is stated about a data set."""
    if name not in data_set_names():
        raise ValueError(f"data set is {name!r}; allowed are {', '.join(data_set_names())}")
    data_set: DataSet = importlib.import_module(f"data_pipelines.datasets.{name}").DATA_SET
    return data_set
