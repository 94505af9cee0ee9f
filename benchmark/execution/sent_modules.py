"""A user's modules on a worker: the source that was read when the runs were planned, whatever is on disk now."""

import atexit
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType

from benchmark.plan.own_modules import SourceFile, SourceFiles

_one_at_a_time = threading.RLock()
_loaded: dict[frozenset[tuple[str, SourceFile]], dict[str, ModuleType]] = {}


@contextmanager
def importable(files: SourceFiles) -> Iterator[None]:
    """Make modules importable from these files inside the block, before other modules of the same names.

    Other sweeps may have sent different modules of the same names to this process. So each set of files has its own
    loaded modules, and threads take turns: such runs are plain Python, which threads do not speed up.
    """
    if not files:
        yield
        return
    names = {name.partition(".")[0] for name in files}
    key, finder = frozenset(files.items()), _Finder(files)
    with _one_at_a_time:
        hidden = _take_out(names)
        sys.modules.update(_loaded.get(key, {}))
        sys.meta_path.insert(0, finder)
        try:
            yield
        finally:
            sys.meta_path.remove(finder)
            _loaded[key] = _take_out(names)
            sys.modules.update(hidden)


def _take_out(names: set[str]) -> dict[str, ModuleType]:
    return {name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] in names}


class _Finder:
    """Finds the modules that were sent, and the packages without a file that contain them."""

    def __init__(self, files: SourceFiles) -> None:
        self._files = files
        self._folders = {parent: folder for name, file in files.items() for parent, folder in _parents(name, file)}

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the location of a module if it was sent."""
        if name in self._files:
            return _spec(name, self._files[name])
        if name not in self._folders:
            return None
        package = ModuleSpec(name, None, is_package=True)
        package.submodule_search_locations = [str(self._folders[name])]
        return package


def _parents(name: str, file: SourceFile) -> Iterator[tuple[str, Path]]:
    """Yield the packages that contain a module, with their folders."""
    folder = Path(file.path).parent
    if Path(file.path).stem == "__init__":
        folder = folder.parent
    while "." in name:
        name = name.rpartition(".")[0]
        yield name, folder
        folder = folder.parent


def _spec(name: str, file: SourceFile) -> ModuleSpec | None:
    copy = _path_with_content(file)
    path = file.path if Path(file.path).parent.is_dir() else copy  # there, a module finds data files next to it
    if path.endswith(".py"):
        return spec_from_file_location(name, path, loader=_Loader(name, path, copy, file.content))
    return spec_from_file_location(name, copy)


class _Loader(SourceFileLoader):
    """Loads a module from its source, without a cache of compiled files.

    Args:
        name: the name of the module.
        path: its `__file__`.
        copy: a file with exactly this source, for tracebacks and caches of compiled functions.
        source: the content of the module.
    """

    def __init__(self, name: str, path: str, copy: str, source: bytes) -> None:
        super().__init__(name, path)
        self._copy, self._source = copy, source

    def get_data(self, path: str) -> bytes:
        """Return the source, or the content of another file of a package."""
        return self._source if path == self.path else super().get_data(path)

    def get_code(self, fullname: str) -> CodeType:
        """Compile the source."""
        return self.source_to_code(self._source, self._copy)


@cache
def _path_with_content(file: SourceFile) -> str:
    """Return the path of a file with exactly this content: its own, or that of a copy if it is missing or changed."""
    with suppress(OSError):
        if Path(file.path).read_bytes() == file.content:
            return file.path
    folder = Path(tempfile.mkdtemp(prefix="fedbandit-modules-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    copy = folder / Path(file.path).name
    copy.write_bytes(file.content)
    return str(copy)
