"""Import order for modules with the same name: our packages first, the user's folder last.

Our top-level packages have common names. A file `algorithms.py` in a user's folder must not hide ours, in this process
or in workers, however Python was started and the project was installed.
"""

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("algorithms", "benchmark", "data_pipelines", "reports")


class _OurPackages:
    """Finds our packages next to this one, regardless of `sys.path`."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the location of the top-level package `name` if it is one of ours."""
        return PathFinder.find_spec(name, [str(ROOT)]) if path is None and name in PACKAGES else None


class _UserFolder:
    """Finds top-level modules in the user's folder.

    It is searched after everything else. An entry at the end of `sys.path` would still come before a project installed
    with `pip install --editable`.
    """

    folder: Path | None = None

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the location of the top-level module `name` if it is in the folder."""
        return PathFinder.find_spec(name, [str(self.folder)]) if path is None and self.folder else None


_our_packages = _OurPackages()
_user_folder = _UserFolder()


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
