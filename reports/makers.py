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

from reports.read.context import Context
from reports.read.results import Results


def makers(package: str) -> list[ModuleType]:
    """Return the modules of a package, sorted by their `ORDER` (default 50) and name."""
    path = importlib.import_module(package).__path__
    modules = [importlib.import_module(f"{package}.{module.name}") for module in pkgutil.iter_modules(path)]
    return sorted(modules, key=lambda module: (getattr(module, "ORDER", 50), module.__name__))


def make(module: ModuleType, kind: str, results: Results, context: Context, failures: list[str]) -> list[Any]:
    """Let a module make its tables or figures; if it fails, note that and return none."""
    try:
        items = list(getattr(module, kind)(results, context))
        return [replace(item, name=file_name(item.name)) for item in items]
    except Exception as error:  # a bug in one kind of table must not stop the others
        note_failure(f"the {kind} of {module.__name__}", error, failures)
        return []


def file_name(name: str) -> str:
    """Return a safe file name, whatever characters the names of experiments and data sets have."""
    return re.sub(r"[^\w.-]", "-", name).lstrip(".") or "unnamed"


def note_failure(what: str, error: Exception, failures: list[str]) -> None:
    """Add one line on a failure; FEDBANDIT_DEBUG=1 also prints the traceback."""
    failures.append(f"could not create {what}: {type(error).__name__}: {' '.join(str(error).split())[:300]}")
    if os.environ.get("FEDBANDIT_DEBUG"):
        traceback.print_exception(error, file=sys.stderr)
