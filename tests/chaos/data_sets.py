"""The data set for fault injection: a small stand-in of LastFM, and the expected bytes of its preparation."""

import contextlib
import io
from functools import cache
from pathlib import Path

from data_pipelines.data_set import find_data_set
from data_pipelines.fetch.sources import PreparationOptions
from data_pipelines.prepare.readiness import PreparationResult, make_ready
from data_pipelines.stand_ins import generate_archive
from tests.benchmark.tiny_sweeps import fedbandit

FORMAT = ("data", "lastfm", "--stand-in", "--size", "small")


@cache
def prepared(parent: Path) -> tuple[dict[str, bytes], int]:
    """Return the files of an undisturbed preparation, and the disk space that the data folder needs."""
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


def make_ready_quietly(folder: Path) -> tuple[PreparationResult, str]:
    """Prepare the data set in this process, and return the result and the output."""
    output = io.StringIO()
    with contextlib.redirect_stderr(output):
        result = make_ready("lastfm", PreparationOptions(folder=folder, stand_in="small"))
    return result, output.getvalue()


def bytes_of(folder: Path) -> dict[str, bytes]:
    """Return all files of a folder."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())} if folder.is_dir() else {}
