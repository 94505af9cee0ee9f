"""The helper modules of a user's class: modules from the user's own folder that it imports, even indirectly.

They are part of a run's key and are sent to Dask workers. They are found by reading the source, so imports inside
functions count. Modules whose names are computed at run time, and data files, are not found.
"""

import ast
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Iterator
from importlib.machinery import PathFinder
from pathlib import Path

from benchmark.records.provenance import OUR_PACKAGES

NEVER_OWN = {*OUR_PACKAGES, "reports", *sys.stdlib_module_names}
INSTALLED_FOLDERS = {"site-packages", "dist-packages"}


def helper_modules(algorithm: type) -> dict[str, Path]:
    """Return the files of a class's helper modules by module name, sorted by name, without the module of the class.

    The user's own folder is the one that holds the class's module or top-level package, including its sub-folders but
    not installed packages. If the class belongs to an installed package, only modules of that package count.
    """
    own, file = algorithm.__module__, _file_of(algorithm)
    if file is None or _top(own) in NEVER_OWN:
        return {}
    root = _root(own, file)
    is_installed = bool(INSTALLED_FOLDERS & set(root.parts))
    importlib.invalidate_caches()
    helpers: dict[str, Path] = {}
    waiting = [(own, file)]
    while waiting:
        for name in _imported(*waiting.pop()):
            if name == own or name in helpers or (is_installed and _top(name) != _top(own)):
                continue
            helper = _find(name)
            if helper is not None and _is_below(helper, root):
                helpers[name] = helper
                waiting.append((name, helper))
    return dict(sorted(helpers.items()))


def files_to_send(algorithm: type) -> dict[str, bytes]:
    """Return the files needed to import a class and its helper modules elsewhere, by path; empty without helpers.

    The packages that contain the class's module are imported with it, so they and their imports are included.
    """
    helpers, own, file = helper_modules(algorithm), algorithm.__module__, _file_of(algorithm)
    if not helpers or file is None:
        return {}
    modules = {own: file, **helpers}
    root, waiting = _root(own, file), list(_with_parents(own))
    while waiting:
        name = waiting.pop()
        module_file = _find(name)
        if name not in modules and module_file is not None and _is_below(module_file, root):
            modules[name] = module_file
            waiting += _imported(name, module_file)
    return {_path(name, module_file): module_file.read_bytes() for name, module_file in sorted(modules.items())}


def _file_of(algorithm: type) -> Path | None:
    source = inspect.getsourcefile(algorithm)
    return Path(source).resolve() if source else None


def _root(name: str, file: Path) -> Path:
    """Return the folder from which a module is imported by this name."""
    module = file.parent if file.stem == "__init__" else file
    return module.parents[name.count(".")]


def _is_below(file: Path, root: Path) -> bool:
    return file.is_relative_to(root) and not INSTALLED_FOLDERS & set(file.relative_to(root).parts)


def _imported(name: str, file: Path) -> Iterator[str]:
    """Yield the modules that a file imports, and their parent packages; some of the names may not be modules."""
    try:
        tree = ast.parse(file.read_bytes()) if file.suffix == ".py" else ast.Module([], [])
    except (SyntaxError, ValueError):  # importing the file reports the error
        return
    package = name if file.stem == "__init__" else name.rpartition(".")[0]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _with_parents(alias.name)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute("." * node.level + (node.module or ""), package)
            for alias in node.names if base else ():
                yield from _with_parents(f"{base}.{alias.name}")


def _absolute(name: str, package: str) -> str:
    try:
        return importlib.util.resolve_name(name, package)
    except ImportError:  # a relative import beyond the top-level package
        return ""


def _with_parents(name: str) -> Iterator[str]:
    """Yield a dotted name and its parents (`a`, `a.b`, `a.b.c`), unless it cannot be a user's own module."""
    parts = name.split(".")
    if parts[0] not in NEVER_OWN:
        yield from (".".join(parts[: count + 1]) for count in range(len(parts)))


def _find(name: str) -> Path | None:
    """Return the file of a module, without importing it or its parent packages."""
    first, *others = name.split(".")
    try:
        spec = importlib.util.find_spec(first)
    except (ImportError, ValueError, AttributeError):
        return None
    for count, _ in enumerate(others):
        if spec is None or spec.submodule_search_locations is None:
            return None
        spec = PathFinder.find_spec(".".join([first, *others[: count + 1]]), spec.submodule_search_locations)
    return Path(spec.origin).resolve() if spec is not None and spec.origin and spec.has_location else None


def _path(name: str, file: Path) -> str:
    """Return the path of a module, relative to the folder of the search path that contains it."""
    folder = name.replace(".", "/")
    if file.stem == "__init__":
        return f"{folder}/{file.name}"
    return f"{folder.rpartition('/')[0]}/{file.name}".lstrip("/")


def _top(name: str) -> str:
    return name.partition(".")[0]
