"""The built-in methods, discovered in the modules of the folder `methods`."""

from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType

from algorithms import methods
from algorithms.method import Declaration, Method


@lru_cache(maxsize=1)
def built_in_methods() -> Mapping[str, Declaration]:
    """Return the declarations of the built-in methods by name, in alphabetical order."""
    modules = [import_module(f"{methods.__name__}.{name}") for name in module_names()]
    classes = {value for module in modules for value in vars(module).values() if isinstance(value, type)}
    found = {each.name: Declaration.of(each) for each in classes if issubclass(each, Method) and hasattr(each, "name")}
    return MappingProxyType(dict(sorted(found.items())))


def module_names() -> list[str]:
    """Return the names of the modules in the folder `methods`; `kernels` and `literal` have modules of these names."""
    return sorted(module.name for module in iter_modules(methods.__path__))
