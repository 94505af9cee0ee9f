"""Reading an archive that may be damaged or hostile: member by member, within limits, in memory."""

import hashlib
import stat
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import IO, Self

from data_pipelines.messages import one_line
from data_pipelines.progress import progress

STAND_IN_MARK = "STAND-IN.txt"
"""Every generated archive holds a member of this name, to be known for what it is anywhere."""

BLOCK = 1 << 22
ENCRYPTED = 0x1
UNIX = 3
READABLE_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OverflowError)


class ArchiveError(ValueError):
    """An archive, or a member of it, that cannot be used; the message is one clear line."""


class Archive:
    """A zip file of which only the listed members are ever read, each up to its limit of bytes.

    Nothing is extracted to disk. A member may lie in one folder (`ml-20m/ratings.csv`). The sha256 of
    every member read to its end is in `hashes`.
    """

    def __init__(self, path: Path, limits: Mapping[str, int]) -> None:
        self.path = path
        self.hashes: dict[str, str] = {}
        self._limits = limits
        try:
            self._zip = zipfile.ZipFile(path)
        except (*DAMAGE, ValueError, IndexError) as error:
            raise ArchiveError(
                f"{path.name} is truncated or no zip archive ({_reason(error)}); get a fresh copy"
            ) from None
        try:
            self._members = self._find_members()
        except BaseException:
            self._zip.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._zip.close()

    @property
    def is_stand_in(self) -> bool:
        """Whether the archive says of itself that it was generated."""
        return STAND_IN_MARK in self._members

    def has(self, member: str) -> bool:
        """Whether the archive holds the member."""
        return member in self._members

    def blocks(self, member: str) -> Iterator[bytes]:
        """Yield a member's bytes, block by block, checked against its limit and its checksum."""
        info = self._info(member)
        digest = hashlib.sha256()
        read = 0
        with self._open(info) as file, progress(f"reading {member}", info.file_size) as shown:
            while block := self._read(file, member):
                read += len(block)
                digest.update(block)
                shown.update(len(block))
                yield block
        if read != info.file_size:
            raise ArchiveError(
                f"{self._of(member)} is truncated: {read:,} of {info.file_size:,} bytes; get a fresh copy"
            )
        self.hashes[member] = digest.hexdigest()

    def read(self, member: str) -> bytes:
        """Return a member's bytes."""
        return b"".join(self.blocks(member))

    def _find_members(self) -> dict[str, zipfile.ZipInfo]:
        found: dict[str, zipfile.ZipInfo] = {}
        for info in self._zip.infolist():
            path = PurePosixPath(info.filename)
            # zipfile turns backslashes into slashes on some systems only; the original name has them all.
            if ".." in path.parts or path.is_absolute() or "\\" in info.orig_filename:
                raise ArchiveError(
                    f"{self.path.name} holds the name {info.filename!r}, which leads outside; it is refused"
                )
            # Not `info.is_dir()`, which fails on an empty name.
            is_elsewhere = info.filename.endswith("/") or len(path.parts) > 2
            if is_elsewhere or path.name not in (*self._limits, STAND_IN_MARK):
                continue
            if path.name in found:
                raise ArchiveError(f"{self.path.name} holds {path.name} twice; it is refused")
            found[path.name] = info
        return found

    def _info(self, member: str) -> zipfile.ZipInfo:
        if member not in self._limits:
            raise ArchiveError(f"{self._of(member)} is not among the members to be read")
        if member not in self._members:
            raise ArchiveError(f"{self.path.name} has no member {member}; get a complete copy")
        info = self._members[member]
        if info.create_system == UNIX and stat.S_ISLNK(info.external_attr >> 16):
            raise ArchiveError(f"{self._of(member)} is a link; only plain files are read")
        if info.flag_bits & ENCRYPTED:
            raise ArchiveError(f"{self._of(member)} is encrypted; only plain archives are read")
        if info.compress_type not in READABLE_METHODS:
            raise ArchiveError(
                f"{self._of(member)} is packed by method {info.compress_type}; allowed are stored and deflated"
            )
        if info.file_size > self._limits[member]:
            raise ArchiveError(
                f"{self._of(member)} unpacks to {info.file_size:,} bytes; allowed are at most {self._limits[member]:,}"
            )
        return info

    @contextmanager
    def _open(self, info: zipfile.ZipInfo) -> Iterator[IO[bytes]]:
        try:
            file = self._zip.open(info)
        except (*DAMAGE, OSError, ValueError) as error:
            raise self._damaged(info.filename, error) from None
        with file:
            yield file

    def _read(self, file: IO[bytes], member: str) -> bytes:
        try:
            return file.read(BLOCK)
        except (*DAMAGE, OSError, ValueError) as error:
            raise self._damaged(member, error) from None

    def _damaged(self, member: str, error: BaseException) -> ArchiveError:
        return ArchiveError(f"{self._of(member)} is damaged ({_reason(error)}); get a fresh copy")

    def _of(self, member: str) -> str:
        return f"{PurePosixPath(member).name} in {self.path.name}"


def _reason(error: BaseException) -> str:
    return one_line(error)[:300] or type(error).__name__
