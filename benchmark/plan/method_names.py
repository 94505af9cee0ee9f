"""Algorithms by name: built-in ones, entry points, users' own classes, and filters such as `name[gamma=5]`."""

import hashlib
import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from algorithms.method import MethodInfo, is_federated, is_learner
from algorithms.registry import built_in_methods
from benchmark.plan.own_modules import OwnSource, own_source
from benchmark.plan.plugins import Kind
from data_pipelines.support.messages import one_line, unknown_name

METHODS = Kind("method", "fedbandit.algorithms", "class", type)
FUNCTIONS = "choose and learn, or client and server"
MAX_FILTER_LENGTH = 2000
VALUE_OR_LIST = re.compile(r"\[\s*([^\[\],\s][^\[\],]*(?:,\s*[^\[\],\s][^\[\],]*)*)\]|[^\[\],]+")
"""A value, or a list of values, none of them empty."""


@dataclass(frozen=True)
class MethodFilter:
    """The value of `--method`: a name, and parameter values that replace those of the experiment."""

    name: str
    values: Mapping[str, tuple[Any, ...]]

    @property
    def is_own(self) -> bool:
        """Whether it names a class that is not built in: `module:Class`, or an entry point of another package."""
        return self.name not in built_in_methods()


def method_names() -> list[str]:
    """Return the names of all installed methods."""
    return sorted([*built_in_methods(), *METHODS.names()])


def broken_methods() -> dict[str, str]:
    """Return the methods of other packages that fail to load, each with a one-line error that names the package."""
    return METHODS.broken(find_method)


def find_method(name: str) -> type:
    """Return the class behind a name, or behind `module:Class`."""
    if ":" in name:
        method = METHODS.own(name)
        if not is_method(method):
            raise ValueError(f"method must be a class with the functions {FUNCTIONS}, got {name!r}")
        return method
    if name in built_in_methods():
        return built_in_methods()[name].method
    loaded = METHODS.installed(name)
    if loaded is None:
        raise unknown_name("method", name, method_names())
    return loaded


def method_info(name: str) -> MethodInfo:
    """Return what the class behind a name declares."""
    return built_in_methods().get(name) or _inspected(find_method(name), name)


@lru_cache(maxsize=256)
def _inspected(method: type, name: str) -> MethodInfo:
    """Inspect each class once: a plan of 10,000 runs asks 20,000 times."""
    return MethodInfo.of(method, name)


def is_measured(name: str) -> bool:
    """Whether the harness measures the communication of a method; a plain class declares its own."""
    return name in built_in_methods() or (is_federated(find_method(name)) and not is_learner(find_method(name)))


def make_method(name: str, parameters: Mapping[str, Any]) -> Any:
    """Create a method; a wrong parameter raises a ValueError with its name, its value and what is expected."""
    return created(method_info(name), parameters)


def created(info: MethodInfo, parameters: Mapping[str, Any]) -> Any:
    """Create a method of a class, see `make_method`."""
    for parameter in parameters:
        if parameter not in info.parameters:
            raise unknown_name(f"parameter of {info.name}", parameter, info.parameters)
    try:
        return info.method(**parameters)
    except (TypeError, ArithmeticError, SystemExit, GeneratorExit) as error:
        reason = str(error) if isinstance(error, Exception) else f"{type(error).__name__}: {error}"
        text = f"{info.name} with {dict(parameters)} cannot be created: {reason}"
        raise ValueError(one_line(text)) from None


def hyper_parameters(method: Any) -> dict[str, Any]:
    """Return the hyper-parameters of a method, including those left at their defaults."""
    names = _inspected(method.__class__, method.__class__.__name__).parameters
    return {name: getattr(method, name) for name in names if hasattr(method, name)}


def source_of(info: MethodInfo) -> OwnSource | None:
    """Return the source of a method as it is now; None if it is built in."""
    if info.name in built_in_methods() and built_in_methods()[info.name].method is info.method:
        return None
    if not is_in_this_session(info.method):
        return own_source(info.method)
    try:
        source = inspect.getsource(info.method)
    except (OSError, TypeError):  # typed into a console
        source = repr(info.method)
    return OwnSource(hashlib.sha256(source.encode()).hexdigest()[:16])


def is_in_this_session(method: type) -> bool:
    """Whether a class is defined in a notebook or a script, which other processes cannot import."""
    return method.__module__ == "__main__"


def declared_by(method: type) -> MethodInfo:
    """Return what a class declares, under its name if it is built in, and as `module:Class` otherwise."""
    for info in built_in_methods().values():
        if info.method is method:
            return info
    if not is_method(method):
        raise ValueError(
            f"a method must be a name, or a class or an object with the functions {FUNCTIONS}, got {method!r}"
        )
    if is_in_this_session(method):
        return MethodInfo.of(method, str(getattr(method, "name", "") or method.__name__))
    return method_info(f"{method.__module__}:{method.__qualname__}")


def is_method(method: type) -> bool:
    """Whether a class has the functions of a method."""
    return hasattr(method, "start") or is_learner(method) or is_federated(method)


def parse_filter(text: str) -> MethodFilter:
    """Read `name`, `name[gamma=5]`, `name[gamma=[1,5,inf],alpha=theory]` or `module:Class[…]`."""
    match = re.fullmatch(r"\s*([^\[\]\s]+)\s*(?:\[(.*)\])?\s*", text) if len(text) <= MAX_FILTER_LENGTH else None
    if match is None:
        raise ValueError(f"--method must be NAME, NAME[parameter=value,…] or module:Class, got {text[:100]!r}")
    name, settings = match.group(1), match.group(2)
    known_parameters = method_info(name).parameters
    values: dict[str, tuple[Any, ...]] = {}
    # A comma inside brackets separates values, any other comma separates settings.
    for setting in [] if settings is None else re.split(r",(?![^\[\]]*\])", settings):
        key, _, value = (part.strip() for part in setting.partition("="))
        value_match = VALUE_OR_LIST.fullmatch(value)
        if value_match is None or not key:
            raise ValueError(f"--method {text!r}: expected parameter=value, got {setting.strip()!r}")
        if key not in known_parameters:
            raise unknown_name(f"parameter of {name}", key, known_parameters)
        if key in values:
            raise ValueError(f"--method {text!r} sets {key} twice; write a list, such as {key}=[1,2]")
        values[key] = tuple(_value(part) for part in (value_match.group(1) or value).split(","))
        if "" in values[key]:
            raise ValueError(f"--method {text!r}: parameter {key} has no value")
    return MethodFilter(name, values)


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
