"""The data set that is disturbed: a small stand-in of LastFM, and the bytes that its preparation must have."""

import contextlib
import io
from functools import cache
from pathlib import Path

from data_pipelines.catalogue import find_data_set
from data_pipelines.readiness import Outcome, make_ready
from data_pipelines.sources import Wishes
from data_pipelines.stand_in import generate_archive
from tests.benchmark.tiny_sweeps import fedbandit

FORMAT = ("data", "lastfm", "--stand-in", "--size", "small")


@cache
def prepared(parent: Path) -> tuple[dict[str, bytes], int]:
    """Return the files of an undisturbed preparation by the command, and the disk space that all of it takes."""
    done = fedbandit(parent, *FORMAT, FEDBANDIT_DATA="undisturbed-data")
    assert done.returncode == 0, done.stderr
    folder = parent / "undisturbed-data"
    needed = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return bytes_of(folder / "lastfm"), needed


@cache
def small_archive(parent: Path) -> Path:
    """Return an archive of the small stand-in."""
    data_set = find_data_set("lastfm")
    assert data_set.stand_in is not None
    path = parent / "archives" / data_set.archive
    generate_archive(path, data_set.stand_in, "small")
    return path


def make_ready_quietly(folder: Path) -> tuple[Outcome, str]:
    """Make the data set ready in this process; return what was said too."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        outcome = make_ready("lastfm", Wishes(folder=folder, stand_in="small"))
    return outcome, said.getvalue()


def bytes_of(folder: Path) -> dict[str, bytes]:
    """Return all files of a folder."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())} if folder.is_dir() else {}
