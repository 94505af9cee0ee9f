"""The built-in methods, discovered in the modules of the folder `methods`."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType

from algorithms import methods
from algorithms.method import Method, MethodInfo, usual_front, usual_label, usual_style


@lru_cache(maxsize=1)
def built_in_methods() -> Mapping[str, MethodInfo]:
    """Return the built-in methods by name, in alphabetical order."""
    modules = [import_module(f"{methods.__name__}.{name}") for name in module_names()]
    classes = {value for module in modules for value in vars(module).values() if isinstance(value, type)}
    found = {each.name: MethodInfo.of(each) for each in classes if issubclass(each, Method) and hasattr(each, "name")}
    return MappingProxyType(dict(sorted(found.items())))


def module_names() -> list[str]:
    """Return the names of the modules in the folder `methods`; `kernels` and `literal` have modules of these names."""
    return sorted(module.name for module in iter_modules(methods.__path__))


def known_method(name: str, recorded: MethodInfo | None = None, parameters: Iterable[str] = ()) -> MethodInfo:
    """Return what is known about a method in a record: a built-in one, or as recorded, or as its name implies.

    Args:
        name: the method's name.
        recorded: its info as recorded.
        parameters: the names of its parameters, if nothing is recorded.
    """
    unknown = MethodInfo(name, usual_label(name), usual_style(name), front=usual_front(parameters))
    return built_in_methods().get(name) or recorded or unknown
