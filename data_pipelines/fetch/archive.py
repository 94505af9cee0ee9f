"""Reading an archive that may be damaged or hostile: member by member, within limits, in memory."""

import hashlib
import stat
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePosixPath
from typing import Self

from data_pipelines.support.messages import one_line
from data_pipelines.support.progress import progress

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

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def has(self, member: str) -> bool:
        """Whether the archive contains the member."""
        return member in self._members

    def blocks(self, member: str) -> Iterator[bytes]:
        """Yield a member's bytes, block by block, checked against its limit, its checksum and its expected hash."""
        info = self._info(member)
        digest, read = hashlib.sha256(), 0
        with ExitStack() as stack:
            with self._one_line_errors(member):
                file = stack.enter_context(self._zip.open(info))
            reporter = stack.enter_context(progress(f"reading {member}", info.file_size))
            while True:
                with self._one_line_errors(member):
                    block = file.read(BLOCK)
                if not block:
                    break
                read += len(block)
                digest.update(block)
                reporter.update(len(block))
                yield block
        if read != info.file_size:
            raise ArchiveError(
                f"{self._of(member)} is truncated: {read:,} of {info.file_size:,} bytes; get a fresh copy"
            )
        self.hashes[member] = sha256 = digest.hexdigest()
        if self._expected_hashes is not None and sha256 != self._expected_hashes[member]:
            expected = self._expected_hashes[member]
            raise ArchiveError(f"wrong hash of {self._of(member)}: sha256 is {sha256[:12]}…, expected {expected[:12]}…")

    def read(self, member: str) -> bytes:
        """Return a member's bytes."""
        return b"".join(self.blocks(member))

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
            if is_ignored or name not in self._limits:
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
        info, limit = self._members[member], self._limits[member]
        problem = ""
        if info.create_system == UNIX and stat.S_ISLNK(info.external_attr >> 16):
            problem = "is a link; expected a plain file"
        elif info.flag_bits & ENCRYPTED:
            problem = "is encrypted; expected an archive without encryption"
        elif info.compress_type not in READABLE_METHODS:
            problem = f"must be stored or deflated, got compression method {info.compress_type}"
        elif info.file_size > limit:
            problem = f"must unpack to at most {limit:,} bytes, got {info.file_size:,}"
        if problem:
            raise ArchiveError(f"{self._of(member)} {problem}")
        return info

    @contextmanager
    def _one_line_errors(self, member: str) -> Iterator[None]:
        try:
            yield
        except (*DAMAGE, OSError, ValueError) as error:
            raise ArchiveError(f"{self._of(member)} is damaged ({_reason(error)}); get a fresh copy") from None

    def _of(self, member: str) -> str:
        return f"{PurePosixPath(member).name} in {self.path.name}"


def _reason(error: BaseException) -> str:
    return one_line(error)[:300] or type(error).__name__
