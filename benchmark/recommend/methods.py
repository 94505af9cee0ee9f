"""The methods of a comparison: from names, classes or instances to algorithms with all their hyper-parameters."""

import hashlib
import inspect
from collections.abc import Sequence
from typing import Any

from algorithms.method import MethodInfo
from algorithms.registry import built_in_methods
from benchmark.plan.experiment import combinations, spread
from benchmark.plan.method_names import (
    hyper_parameters,
    identity,
    make_method,
    method_info,
    parse_filter,
)
from benchmark.plan.run_key import run_key
from benchmark.plan.runs import MethodSetting

IN_THIS_SESSION = "__main__"
"""The module of classes that are defined in a notebook or a script."""


def settings_of(methods: Any, *, points: int | None = None) -> list[MethodSetting]:
    """Return all settings of methods.

    A method is a name (`"async-linucb"`, `"async-linucb[gamma=[1,10,inf]]"`, `"module:Class"`), a class, or an
    instance. A name or a class without a value for its front runs through the grid that the method declares, or
    through `points` values of it.
    """
    listed = [methods] if isinstance(methods, str | type) or not isinstance(methods, Sequence) else list(methods)
    if not listed:
        raise ValueError("methods must have at least one method, got none")
    settings = [setting for method in listed for setting in _settings(method, points)]
    keys = [run_key("", each.identity, each.parameters, 0) for each in settings]
    for index, key in enumerate(keys):
        if key in keys[:index]:
            name, parameters = settings[index].info.name, settings[index].parameters
            raise ValueError(
                f"methods must be distinct, got {name} twice with {parameters or 'the same parameters'}; parameters "
                "are read from attributes with the names of the constructor's arguments"
            )
    for name in dict.fromkeys(each.info.name for each in settings):
        if len({each.identity for each in settings if each.info.name == name}) > 1:
            raise ValueError(f"methods must have distinct names, got two classes with the name {name!r}")
    return settings


def is_in_this_session(algorithm: Any) -> bool:
    """Whether the class of an algorithm is defined in a notebook or a script, where other processes cannot import."""
    return type(algorithm).__module__ == IN_THIS_SESSION


def _settings(method: Any, points: int | None) -> list[MethodSetting]:
    if isinstance(method, str):
        algorithm = parse_filter(method)
        info, values = method_info(algorithm.name), dict(algorithm.values)
    elif isinstance(method, type):
        info, values = _declared(method), {}
    else:
        return [_setting(_declared(type(method)), method)]
    front = info.front
    if front is not None and front.parameter not in values:
        values = {front.parameter: spread(front.grid, points or len(front.grid)), **values}
    return [_setting(info, _make(info, parameters)) for parameters in combinations(values)]


def _make(info: MethodInfo, parameters: dict[str, Any]) -> Any:
    if info.method.__module__ != IN_THIS_SESSION:
        return make_method(info.name, parameters)
    try:
        return info.method(**parameters)
    except TypeError as error:
        raise ValueError(f"{info.label} with {parameters} cannot be created: {error}") from None


def _declared(method: type) -> MethodInfo:
    for info in built_in_methods().values():
        if info.method is method:
            return info
    if not (hasattr(method, "start") or (hasattr(method, "choose") and hasattr(method, "learn"))):
        raise ValueError(
            f"a method must be a name, or a class or an object with the methods choose and learn, got {method!r}"
        )
    if method.__module__ == IN_THIS_SESSION:
        return MethodInfo.of(method, str(getattr(method, "name", "") or method.__name__))
    return method_info(f"{method.__module__}:{method.__qualname__}")


def _setting(info: MethodInfo, method: Any) -> MethodSetting:
    return MethodSetting(info, method, hyper_parameters(method), _identity(info))


def _identity(info: MethodInfo) -> str:
    if info.method.__module__ != IN_THIS_SESSION:
        return identity(info.name)
    try:
        source = inspect.getsource(info.method)
    except (OSError, TypeError):  # typed into a console
        source = repr(info.method)
    return f"{info.name}@{hashlib.sha256(source.encode()).hexdigest()[:16]}"
