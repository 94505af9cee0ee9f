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

from data_pipelines.support.messages import one_line
from data_pipelines.support.progress import progress

STAND_IN_MARK = "STAND-IN.txt"
"""Every generated archive contains a member of this name, so that it can always be recognised."""

BLOCK = 1 << 22
ENCRYPTED = 0x1
UNIX = 3
READABLE_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OverflowError)


class ArchiveError(ValueError):
    """An archive or member that cannot be used; the message is one clear line."""


class Archive:
    """A zip file; only the listed members are read, each up to its limit in bytes.

    Nothing is extracted to disk. A member may be inside one folder (`ml-20m/ratings.csv`). With `expected_hashes`,
    members have full names, folders included, and each must have its sha256. `hashes` has the sha256 of every member
    that was read to its end.
    """

    def __init__(self, path: Path, limits: Mapping[str, int], expected_hashes: Mapping[str, str] | None = None) -> None:
        self.path = path
        self.hashes: dict[str, str] = {}
        self._limits = limits
        self._expected_hashes = expected_hashes
        try:
            self._zip = zipfile.ZipFile(path)
        except (*DAMAGE, ValueError, IndexError) as error:
            raise ArchiveError(
                f"{path.name} is truncated or not a zip archive ({_reason(error)}); get a fresh copy"
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
        """Whether the archive is a generated stand-in."""
        return STAND_IN_MARK in self._members

    def has(self, member: str) -> bool:
        """Whether the archive contains the member."""
        return member in self._members

    def blocks(self, member: str) -> Iterator[bytes]:
        """Yield a member's bytes, block by block, checked against its limit and its checksum."""
        info = self._info(member)
        digest = hashlib.sha256()
        read = 0
        with self._open(info) as file, progress(f"reading {member}", info.file_size) as reporter:
            while block := self._read(file, member):
                read += len(block)
                digest.update(block)
                reporter.update(len(block))
                yield block
        if read != info.file_size:
            raise ArchiveError(
                f"{self._of(member)} is truncated: {read:,} of {info.file_size:,} bytes; get a fresh copy"
            )
        self._check_hash(member, digest.hexdigest())
        self.hashes[member] = digest.hexdigest()

    def read(self, member: str) -> bytes:
        """Return a member's bytes."""
        return b"".join(self.blocks(member))

    def _check_hash(self, member: str, sha256: str) -> None:
        if self._expected_hashes is not None and sha256 != self._expected_hashes[member]:
            raise ArchiveError(
                f"wrong hash of {self._of(member)}: sha256 is {sha256[:12]}…, expected "
                f"{self._expected_hashes[member][:12]}…"
            )

    def _find_members(self) -> dict[str, zipfile.ZipInfo]:
        members: dict[str, zipfile.ZipInfo] = {}
        for info in self._zip.infolist():
            path = PurePosixPath(info.filename)
            # zipfile turns backslashes into slashes on some systems only; the original name keeps them.
            if ".." in path.parts or path.is_absolute() or "\\" in info.orig_filename:
                raise ArchiveError(
                    f"{self.path.name} contains {info.filename!r}, which points outside the archive; "
                    "refusing to read it"
                )
            # Not `info.is_dir()`, which fails on an empty name.
            is_ignored = info.filename.endswith("/") or (self._expected_hashes is None and len(path.parts) > 2)
            name = path.name if self._expected_hashes is None else info.filename
            if is_ignored or name not in (*self._limits, STAND_IN_MARK):
                continue
            if name in members:
                raise ArchiveError(f"{self.path.name} contains {name} more than once; refusing to read it")
            members[name] = info
        return members

    def _info(self, member: str) -> zipfile.ZipInfo:
        if member not in self._limits:
            raise ArchiveError(f"{self._of(member)} is not one of the members that may be read")
        if member not in self._members:
            raise ArchiveError(f"{self.path.name} has no member {member}; get a complete copy")
        info = self._members[member]
        if info.create_system == UNIX and stat.S_ISLNK(info.external_attr >> 16):
            raise ArchiveError(f"{self._of(member)} is a link; expected a plain file")
        if info.flag_bits & ENCRYPTED:
            raise ArchiveError(f"{self._of(member)} is encrypted; expected an archive without encryption")
        if info.compress_type not in READABLE_METHODS:
            raise ArchiveError(
                f"{self._of(member)} must be stored or deflated, got compression method {info.compress_type}"
            )
        if info.file_size > self._limits[member]:
            raise ArchiveError(
                f"{self._of(member)} must unpack to at most {self._limits[member]:,} bytes, got {info.file_size:,}"
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
