"""Algorithms by name: built-in ones, entry points, a user's own classes, and filters such as `name[gamma=5]`."""

import hashlib
import importlib
import inspect
import math
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from benchmark.nearest import unknown
from data_pipelines.messages import one_line

GRID_OFFSETS = {"gamma": 1.0, "threshold": 0.0}
"""The parameters that a threshold grid runs through: the grid is γ-1, and D."""

ENTRY_POINTS = "fedbandit.algorithms"
LONGEST_FILTER = 2000
SETTING_VALUE = re.compile(r"\[\s*([^\[\],\s][^\[\],]*(?:,\s*[^\[\],\s][^\[\],]*)*)\]|[^\[\],]+")
"""One value, or a list of some, none of them empty."""


@dataclass(frozen=True)
class AlgorithmFilter:
    """What `--algorithm` says: a name, and values that replace those of the experiment."""

    name: str
    values: Mapping[str, tuple[Any, ...]]

    @property
    def is_own(self) -> bool:
        """Whether it names a class that is not built in: a user's, `module:Class`, or one of another package."""
        return self.name not in _built_in()


def algorithm_names() -> list[str]:
    """Return the names of all algorithms that are installed."""
    return sorted([*_built_in(), *(point.name for point in entry_points(group=ENTRY_POINTS))])


def find_algorithm(name: str) -> type:
    """Return the class behind a name, or behind `module:Class`."""
    if ":" in name:
        return _own_class(name)
    built_in = _built_in()
    if name in built_in:
        return built_in[name]
    loaded = _installed(name)
    if loaded is None:
        raise unknown("algorithm", name, algorithm_names())
    return loaded


@lru_cache(maxsize=64)
def _installed(name: str) -> type | None:
    """Return the class of an entry point; looking through all that is installed takes milliseconds."""
    for point in entry_points(group=ENTRY_POINTS, name=name):
        loaded: type = point.load()
        return loaded
    return None


def parameter_names(algorithm: type) -> list[str]:
    """Return the hyper-parameters that a class takes."""
    return list(_parameter_names(algorithm))


@lru_cache(maxsize=256)
def _parameter_names(algorithm: type) -> tuple[str, ...]:
    """Look once at a class: a plan of 10,000 runs asks 20,000 times."""
    return tuple(name for name in inspect.signature(algorithm).parameters if name not in ("args", "kwargs"))


def make_algorithm(name: str, parameters: Mapping[str, Any]) -> Any:
    """Make an algorithm; a wrong parameter is a ValueError that names it, the value and what is allowed."""
    found = find_algorithm(name)
    allowed = parameter_names(found)
    for parameter in parameters:
        if parameter not in allowed:
            raise unknown(f"parameter of {name}", parameter, allowed)
    try:
        return found(**parameters)
    except (TypeError, ArithmeticError) as error:
        raise ValueError(one_line(f"{name} with {dict(parameters)} cannot be made: {error}")) from None


def hyper_parameters(algorithm: Any) -> dict[str, Any]:
    """Return the hyper-parameters that an algorithm was made with, those left at their defaults included."""
    return {name: getattr(algorithm, name) for name in parameter_names(type(algorithm)) if hasattr(algorithm, name)}


def identity(name: str) -> str:
    """Return what a run key says of an algorithm: its name, with the hash of its source if it is not built in."""
    if name in _built_in():
        return name
    source = inspect.getsourcefile(find_algorithm(name))
    content = Path(source).read_bytes() if source else b""
    return f"{name}@{hashlib.sha256(content).hexdigest()[:16]}"


def parse_filter(text: str) -> AlgorithmFilter:
    """Read `name`, `name[gamma=5]`, `name[gamma=[1,5,inf],alpha=theory]` or `module:Class[…]`."""
    match = re.fullmatch(r"\s*([^\[\]\s]+)\s*(?:\[(.*)\])?\s*", text) if len(text) <= LONGEST_FILTER else None
    if match is None:
        raise ValueError(f"--algorithm is {text[:100]!r}; allowed are NAME, NAME[parameter=value,…] and module:Class")
    name, settings = match.group(1), match.group(2)
    allowed = parameter_names(find_algorithm(name))
    values: dict[str, tuple[Any, ...]] = {}
    # A comma inside brackets parts values, any other one settings.
    for setting in [] if settings is None else re.split(r",(?![^\[\]]*\])", settings):
        key, _, value = (part.strip() for part in setting.partition("="))
        written = SETTING_VALUE.fullmatch(value)
        if written is None or not key:
            raise ValueError(f"--algorithm is {text!r}, with {setting.strip()!r}; allowed is parameter=value")
        if key not in allowed:
            raise unknown(f"parameter of {name}", key, allowed)
        if key in values:
            raise ValueError(f"--algorithm is {text!r}, with {key} twice; allowed is once, such as {key}=[1,2]")
        values[key] = tuple(_value(each) for each in (written.group(1) or value).split(","))
        if "" in values[key]:
            raise ValueError(f"--algorithm is {text!r}, with an empty {key}; allowed is parameter=value")
    return AlgorithmFilter(name, values)


def number_text(value: Any) -> str:
    """Write a value as people would: 5, 1.01, inf."""
    if isinstance(value, float):
        return f"{value:g}" if math.isclose(value, float(f"{value:g}"), rel_tol=1e-12) else repr(value)
    return str(value)


def _value(text: str) -> Any:
    text = text.strip().strip("\"'")
    words: dict[str, Any] = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _built_in() -> dict[str, type]:
    import algorithms

    classes = [getattr(algorithms, name) for name in algorithms.__all__]
    return {each.name: each for each in classes if hasattr(each, "name") and hasattr(each, "start")}


def _own_class(reference: str) -> type:
    module_name, _, class_name = reference.partition(":")
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)
    try:
        module = importlib.import_module(module_name)
    except Exception as error:
        hint = f"; write {module_name.removesuffix('.py')}:{class_name}" if module_name.endswith(".py") else ""
        where = f" (looked in {here}, and among installed packages)" if isinstance(error, ModuleNotFoundError) else ""
        text = f"algorithm is {reference!r}; {module_name} cannot be imported: {error}{where}{hint}"
        raise ValueError(one_line(text)) from None
    found = getattr(module, class_name, None)
    if not isinstance(found, type):
        classes = [name for name, each in vars(module).items() if isinstance(each, type)]
        raise unknown(f"class in {module_name}", class_name, classes)
    if not (hasattr(found, "start") or (hasattr(found, "choose") and hasattr(found, "learn"))):
        raise ValueError(f"algorithm is {reference!r}; allowed are classes with choose and learn")
    return found
