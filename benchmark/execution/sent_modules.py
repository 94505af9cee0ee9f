"""A user's helper modules on a worker that does not have the user's folder."""

import atexit
import importlib
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType

_one_at_a_time = threading.RLock()
_loaded: dict[Path, dict[str, ModuleType]] = {}


@contextmanager
def importable(files: Mapping[str, bytes]) -> Iterator[None]:
    """Make files (by path) importable inside the block, before other modules of the same name.

    Other sweeps may have sent different modules of the same names to this process. So each set of files has its own
    folder and loaded modules, and threads take turns: such runs are plain Python, which threads do not speed up.
    """
    if not files:
        yield
        return
    names = {path.partition("/")[0].partition(".")[0] for path in files}
    with _one_at_a_time:
        folder = _folder(tuple(sorted(files.items())))
        hidden = _take_out(names)
        sys.modules.update(_loaded.get(folder, {}))
        sys.path.insert(0, str(folder))
        try:
            yield
        finally:
            sys.path.remove(str(folder))
            _loaded[folder] = _take_out(names)
            sys.modules.update(hidden)


def _take_out(names: set[str]) -> dict[str, ModuleType]:
    return {name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] in names}


@cache
def _folder(files: tuple[tuple[str, bytes], ...]) -> Path:
    """Write files into a new folder, which is removed when the process ends."""
    folder = Path(tempfile.mkdtemp(prefix="fedbandit-modules-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for path, content in files:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    importlib.invalidate_caches()
    return folder
