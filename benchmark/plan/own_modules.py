"""The source of what a user adds: its module, and the user's own modules that it imports, even indirectly.

That of a class is part of a run's key. It is sent to all workers, which execute it even if a file changes afterwards.
Modules are found by reading the source, so imports inside functions count. Modules whose names are computed at run
time, and data files, are not found.
"""

import ast
import hashlib
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.machinery import PathFinder
from pathlib import Path
from typing import NamedTuple

from benchmark.records.provenance import OUR_PACKAGES

NEVER_OWN = {*OUR_PACKAGES, "reports", *sys.stdlib_module_names}
INSTALLED_FOLDERS = {"site-packages", "dist-packages"}


class SourceFile(NamedTuple):
    """A file as it was read: its path, and its content."""

    path: str
    content: bytes


SourceFiles = Mapping[str, SourceFile]
"""Files by the names of their modules."""


@dataclass(frozen=True)
class OwnSource:
    """The source of a class, each file read once.

    Args:
        hash: the part of a run's key: the file of the class, followed by its helper modules.
        files: everything needed to import the class elsewhere; empty if every worker has it.
        helpers: the names of its helper modules, sorted.
    """

    hash: str
    files: SourceFiles = field(default_factory=dict)
    helpers: tuple[str, ...] = ()


def own_source(algorithm: type) -> OwnSource:
    """Read the source of a class that is not built in.

    The user's own folder is the one that holds the class's module or top-level package, including its sub-folders but
    not installed packages. If the class belongs to an installed package, only modules of that package count. The
    packages that contain the class's module are imported with it, so they and their imports are sent too.
    """
    return source_of_module(algorithm.__module__, inspect.getsourcefile(algorithm))


def source_of_module(own: str, source: str | None) -> OwnSource:
    """Read the source of a module, given its file, and of its helper modules."""
    if source is None:
        return OwnSource(hashlib.sha256().hexdigest()[:16])
    path = Path(source).resolve()
    file = SourceFile(str(path), path.read_bytes())
    if _top(own) in NEVER_OWN:
        return OwnSource(hash_of(own, {own: file.content}))
    importlib.invalidate_caches()
    files, is_own = {own: file}, _rule(own, path)
    _read_all(_imported(own, file), is_own, files)
    helpers = tuple(sorted(files.keys() - {own}))
    code = hash_of(own, {name: each.content for name, each in files.items()}, helpers)
    _read_all(_with_parents(own), is_own, files)
    return OwnSource(code, files, helpers)


def hash_of(own: str, contents: Mapping[str, bytes], helpers: Iterable[str] = ()) -> str:
    """Hash the module of a class and its helper modules, given the contents of their files by name."""
    digest = hashlib.sha256(contents[own])
    for name in helpers:
        digest.update(f"\0{name}\0".encode() + hashlib.sha256(contents[name]).digest())
    return digest.hexdigest()[:16]


def _rule(own: str, file: Path) -> Callable[[str, Path], bool]:
    """Return the function that decides whether a module belongs to the same user or package as the class's module."""
    module = file.parent if file.stem == "__init__" else file
    root = module.parents[own.count(".")]  # the folder from which it is imported by this name
    is_installed = bool(INSTALLED_FOLDERS & set(root.parts))

    def is_own(name: str, path: Path) -> bool:
        is_below = path.is_relative_to(root) and not INSTALLED_FOLDERS & set(path.relative_to(root).parts)
        return is_below and not (is_installed and _top(name) != _top(own))

    return is_own


def _read_all(names: Iterable[str], is_own: Callable[[str, Path], bool], files: dict[str, SourceFile]) -> None:
    """Add the files of these modules, and of those that they import."""
    waiting = [*names]
    while waiting:
        name = waiting.pop()
        path = None if name in files else _find(name)
        if path is not None and is_own(name, path):
            files[name] = SourceFile(str(path), path.read_bytes())
            waiting += _imported(name, files[name])


def _imported(name: str, file: SourceFile) -> Iterator[str]:
    """Yield the modules that a file imports, and their parent packages; some of the names may not be modules."""
    path = Path(file.path)
    try:
        tree = ast.parse(file.content) if path.suffix == ".py" else ast.Module([], [])
    except (SyntaxError, ValueError):  # importing the file reports the error
        return
    package = name if path.stem == "__init__" else name.rpartition(".")[0]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _with_parents(alias.name)
        elif isinstance(node, ast.ImportFrom):
            with suppress(ImportError):  # a relative import beyond the top-level package
                base = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
                for alias in node.names:
                    yield from _with_parents(f"{base}.{alias.name}")


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


def _top(name: str) -> str:
    return name.partition(".")[0]
