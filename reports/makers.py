"""The makers of tables and figures: every module in `reports/tables/` and `reports/figures/`."""

import importlib
import os
import pkgutil
import re
import sys
import traceback
from dataclasses import replace
from types import ModuleType
from typing import Any

from reports.context import Context
from reports.results import Results


def makers(package: str) -> list[ModuleType]:
    """Return the modules of a package, by their `ORDER` (50 where they have none) and name."""
    path = importlib.import_module(package).__path__
    found = [importlib.import_module(f"{package}.{module.name}") for module in pkgutil.iter_modules(path)]
    return sorted(found, key=lambda module: (getattr(module, "ORDER", 50), module.__name__))


def make(module: ModuleType, kind: str, results: Results, context: Context, failures: list[str]) -> list[Any]:
    """Let a module make its tables or figures; one that fails is named, and the others go on."""
    try:
        made = list(getattr(module, kind)(results, context))
        return [replace(each, name=file_name(each.name)) for each in made]
    except Exception as error:  # whatever is wrong with one kind of table must not cost the others
        note_failure(f"{kind} of {module.__name__}", error, failures)
        return []


def file_name(name: str) -> str:
    """Return a name that is safe as that of a file, whatever experiments and data sets are called."""
    return re.sub(r"[^\w.-]", "-", name).lstrip(".") or "unnamed"


def note_failure(what: str, error: Exception, failures: list[str]) -> None:
    """Keep one line on what went wrong; FEDBANDIT_DEBUG=1 shows the traceback too."""
    failures.append(f"{what} could not be made: {type(error).__name__}: {' '.join(str(error).split())[:300]}")
    if os.environ.get("FEDBANDIT_DEBUG"):
        traceback.print_exception(error, file=sys.stderr)
