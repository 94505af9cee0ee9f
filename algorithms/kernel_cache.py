"""The folder of compiled kernels on disk, named after the contents of this package."""

import hashlib
import os
from pathlib import Path


def cache_folder(package: Path) -> Path:
    """Return the folder for compiled kernels, named after the contents of a package."""
    digest = hashlib.sha256()
    for file in sorted(package.rglob("*.py")):
        digest.update(file.relative_to(package).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    base = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "fedbandit" / f"kernels-{digest.hexdigest()[:16]}"


CACHE_FOLDER = cache_folder(Path(__file__).parent)
