"""How much disk a store takes."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from benchmark.records.artifacts import ARTIFACTS
from benchmark.records.tracking import ADDED_BY_SQLITE, sqlite_file


@dataclass(frozen=True)
class StoreSize:
    """The bytes of a database and of the files of its runs."""

    database: int
    files: int

    def __sub__(self, other: "StoreSize") -> "StoreSize":
        """Return by how much a store grew."""
        return StoreSize(self.database - other.database, self.files - other.files)

    @property
    def total(self) -> int:
        """All bytes."""
        return self.database + self.files

    def __str__(self) -> str:
        """Return the sizes in words."""
        return f"{megabytes(self.total)} (database {megabytes(self.database)}, files {megabytes(self.files)})"


def store_size(uri: str) -> StoreSize | None:
    """Return the size of a store in a SQLite file, with the files next to it; None for any other."""
    file = sqlite_file(uri)
    if file is None:
        return None
    database = (file.with_name(file.name + ending) for ending in ("", *ADDED_BY_SQLITE))
    return StoreSize(
        sum(path.stat().st_size for path in database if path.exists()), bytes_in([file.parent / ARTIFACTS])
    )


def bytes_in(folders: Iterable[Path]) -> int:
    """Return the bytes of all files in some folders; a missing folder has none."""
    return sum(path.stat().st_size for folder in folders for path in folder.rglob("*") if path.is_file())


def megabytes(size: float) -> str:
    """Write a number of bytes in MB."""
    return f"{size / 1e6:,.1f} MB"
