"""What users add: methods, metrics and data sets, as `module:NAME` in the working directory, or as entry points."""

import importlib
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Generic, TypeVar

from benchmark.import_order import PACKAGES, hidden_file, search_last
from benchmark.plan.own_modules import OwnSource, source_of_module
from data_pipelines.support.messages import one_line, unknown_name

Plugin = TypeVar("Plugin")


@dataclass(frozen=True)
class Kind(Generic[Plugin]):
    """A kind of plug-in.

    Args:
        noun: what it is called in messages.
        group: the group of its entry points.
        what: what an object of this kind is, in a word.
        type: its type.
    """

    noun: str
    group: str
    what: str
    type: type[Plugin]

    def names(self) -> list[str]:
        """Return the names of the entry points of this kind."""
        return sorted({point.name for point in entry_points(group=self.group)})

    def installed(self, name: str) -> Plugin | None:
        """Return the object behind an entry point; None if there is none of this name."""
        found = _installed(self, name)
        return None if found is None else found[0]

    def source(self, name: str) -> tuple[str, OwnSource]:
        """Return the `module:NAME` of an object that was found, and its source as it is now."""
        found = None if ":" in name else _installed(self, name)
        reference = name if found is None else found[1]
        module = reference.partition(":")[0]
        return reference, source_of_module(module, inspect.getsourcefile(sys.modules[module]))

    def own(self, reference: str) -> Plugin:
        """Import the object of a user; the working directory is searched last."""
        return _own(self, reference)

    def broken(self, find: Callable[[str], object]) -> dict[str, str]:
        """Return the entry points that `find` refuses, each with a one-line error that names the package."""
        broken = {}
        for name in self.names():
            try:
                find(name)
            except ValueError as error:
                broken[name] = str(error)
        return broken


@lru_cache(maxsize=64)
def _installed(kind: Kind[Plugin], name: str) -> tuple[Plugin, str] | None:
    """Return the object of an entry point, and its reference. Cached: searching all packages takes milliseconds."""
    for point in entry_points(group=kind.group, name=name):
        try:
            loaded = point.load()
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # also `sys.exit`
            raise _broken(kind, point, f"{type(error).__name__}: {error}") from None
        if not isinstance(loaded, kind.type):
            raise _broken(kind, point, f"it is not a {kind.what}")
        return loaded, f"{point.module}:{point.attr}"
    return None


def _broken(kind: Kind[Any], point: EntryPoint, reason: str) -> ValueError:
    package = f"the package {point.dist.name} {point.dist.version}" if point.dist else "an installed package"
    return ValueError(one_line(f"{kind.noun} {point.name} of {package} cannot be loaded from {point.value}: {reason}"))


def _own(kind: Kind[Plugin], reference: str) -> Plugin:
    """Import an object; the error names a file hidden by a module of the same name."""
    module_name, _, name = reference.partition(":")
    here = Path.cwd()
    search_last(here)
    try:
        module = importlib.import_module(module_name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # also `sys.exit`
        reason = str(error) if isinstance(error, Exception) else f"{type(error).__name__}: {error}"
        hint = f"; write {module_name.removesuffix('.py')}:{name}" if module_name.endswith(".py") else ""
        where = f" (searched {here} and the installed packages)" if isinstance(error, ModuleNotFoundError) else ""
        hidden = _hidden((error.name if isinstance(error, ImportError) else None) or module_name, here)
        text = f"{kind.noun} {reference!r}: {module_name} cannot be imported: {reason}{where}{hint}{hidden}"
        raise ValueError(one_line(text)) from None
    if (file := hidden_file(module_name, here)) and file.is_file():
        raise ValueError(f"{kind.noun} {reference!r}{_hidden(module_name, here)}")
    found = getattr(module, name, None)
    if not isinstance(found, kind.type):
        others = [other for other, value in vars(module).items() if isinstance(value, kind.type)]
        raise unknown_name(f"{kind.what} in {module_name}", name, others)
    return found


def _hidden(module_name: str, folder: Path) -> str:
    """Return the text that names a file in the user's folder hidden by another module; empty if there is none."""
    file = hidden_file(module_name, folder)
    top = module_name.partition(".")[0]
    other = "a fedbandit package" if top in PACKAGES else "a module of Python or of an installed package"
    return f"; {file} is ignored because {top} is the name of {other}; rename the file" if file else ""
