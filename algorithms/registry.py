"""The built-in methods, discovered in the folder `methods`."""

from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType

from algorithms import methods
from algorithms.method import Declaration, Method


@lru_cache(maxsize=1)
def built_in_methods() -> Mapping[str, Declaration]:
    """Return the declarations of the built-in methods by name."""
    declarations: dict[str, Declaration] = {}
    for module in module_names():
        for value in vars(import_module(f"{methods.__name__}.{module}")).values():
            if isinstance(value, type) and issubclass(value, Method) and value.__module__.endswith(f".{module}"):
                declarations[value.name] = Declaration.of(value)
    return MappingProxyType(declarations)


def module_names() -> list[str]:
    """Return the names of the modules in the folder `methods`; `kernels` and `literal` have modules of these names."""
    return sorted(module.name for module in iter_modules(methods.__path__))
