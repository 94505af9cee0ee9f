"""Import order for modules with the same name: our packages first, the user's folder last.

Our top-level packages have common names. A file `algorithms.py` in a user's folder must not hide ours, in this process
or in workers, however Python was started and the project was installed.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("algorithms", "benchmark", "data_pipelines", "reports")


@dataclass
class _Finder:
    """Finds top-level modules in a folder, regardless of `sys.path`; all, or only those with certain names."""

    folder: Path | None
    names: tuple[str, ...] | None = None

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the location of a top-level module if it is in the folder."""
        is_searched = path is None and self.folder is not None and (self.names is None or name in self.names)
        return PathFinder.find_spec(name, [str(self.folder)]) if is_searched else None


_our_packages = _Finder(ROOT, PACKAGES)
_user_folder = _Finder(None)
"""Searched after everything else: the end of `sys.path` still comes before a `pip install --editable` of ours."""


def put_ours_first() -> None:
    """Give our packages precedence from now on; raise an ImportError if a file already hides one of them."""
    for name in PACKAGES:
        module = sys.modules.get(name)
        if module is not None and str(ROOT / name) not in _locations(module):
            raise ImportError(
                f"{_file(module)} hides the fedbandit package {name!r}; rename the file, or import benchmark before it"
            )
    if _our_packages not in sys.meta_path:
        sys.meta_path.insert(0, _our_packages)


def search_last(folder: Path) -> None:
    """Import modules from this folder if they are not found anywhere else."""
    _user_folder.folder = folder
    if _user_folder not in sys.meta_path:
        sys.meta_path.append(_user_folder)


def folder_searched_last() -> Path | None:
    """Return the folder passed to `search_last`, so that worker processes can search it too."""
    return _user_folder.folder


def hidden_file(name: str, folder: Path) -> Path | None:
    """Return the file or folder in `folder` that is not used because a module of the same name was found elsewhere."""
    top = name.partition(".")[0]
    module = sys.modules.get(top)
    spec = PathFinder.find_spec(top, [str(folder)])
    if module is None or spec is None:
        return None
    file = Path(spec.origin) if spec.origin else folder / top
    return None if _file(module) == str(file.resolve()) else file


def _locations(module: ModuleType) -> list[str]:
    return [str(Path(location).resolve()) for location in getattr(module, "__path__", [])]


def _file(module: ModuleType) -> str:
    """Return the file of a module, the folder of a package without a file, or the name of a built-in module."""
    file = getattr(module, "__file__", None)
    return str(Path(file).resolve()) if file else next(iter(_locations(module)), module.__name__)
