"""Where an archive may come from, in the order in which the places are asked."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import quote, urlsplit

from data_pipelines.data_set import DataSet
from data_pipelines.download import Expected, Patience, download
from data_pipelines.download_errors import DownloadError
from data_pipelines.secrets import shown_address, without_user
from data_pipelines.stand_in import Size, generate_archive

ARCHIVES, STAND_INS = "archives", "stand-ins"
GENERATED = "generated"


@dataclass(frozen=True)
class Source:
    """One place to look: `fetch` returns the archive's path, or `None`, or raises ValueError."""

    label: str
    """What messages call it, this machine's paths included."""
    origin: str
    """What the manifest calls it: the same wherever the data folder and the mirror lie."""
    fetch: Callable[[], Path | None]
    is_official: bool = False
    """Whether only the official bytes will do."""
    is_ours: bool = False
    """Whether we put the archive there, and throw it away if it turns out to be unusable."""


@dataclass(frozen=True)
class Wishes:
    """What the user asked for."""

    folder: Path
    mirror: str | None = None
    stand_in: Size | None = None
    force: bool = False
    patience: Patience = field(default_factory=Patience)


def mirror_from_environment() -> str | None:
    """Return `FEDBANDIT_MIRROR`, if it is set to something."""
    return os.environ.get("FEDBANDIT_MIRROR") or None


def sources_of(data_set: DataSet, wishes: Wishes, dead_hosts: dict[str, str]) -> Iterator[Source]:
    """Yield the places to ask: the data folder, the mirror, the official address, other known copies.

    A stand-in comes alone: who asks for one wants no search. A server found dead for one data set is not
    asked again for the next, so that offline everything ends soon; `dead_hosts` remembers.
    """
    if wishes.stand_in is not None:
        yield _generated(data_set, wishes.folder, wishes.stand_in)
        return
    by_hand = wishes.folder / data_set.archive
    yield Source(str(by_hand), "an archive in the data folder", lambda: by_hand if by_hand.is_file() else None)
    if wishes.mirror is not None:
        yield _mirror(data_set, wishes, wishes.mirror, dead_hosts)
    expected = Expected(data_set.size, data_set.sha256)
    for url in (data_set.official_url, *data_set.copies):
        yield replace(_address(url, data_set, wishes, expected, dead_hosts), is_official=True)


def _generated(data_set: DataSet, folder: Path, size: Size) -> Source:
    def fetch() -> Path:
        if data_set.stand_in is None:
            raise ValueError(f"no stand-in is stated for {data_set.name}")
        target = folder / STAND_INS / size / data_set.archive
        if not target.is_file():
            generate_archive(target, data_set.stand_in, size)
        return target

    return Source(f"stand-in ({size})", f"{GENERATED}, {size} size", fetch, is_ours=True)


def _mirror(data_set: DataSet, wishes: Wishes, mirror: str, dead_hosts: dict[str, str]) -> Source:
    if "://" in mirror:
        url = f"{mirror.rstrip('/')}/{quote(data_set.archive)}"
        return _address(url, data_set, wishes, Expected(), dead_hosts)
    path = Path(mirror).expanduser() / data_set.archive

    def fetch() -> Path | None:
        if not path.parent.is_dir():
            raise ValueError(f"mirror is {without_user(mirror)!r}; allowed are an existing folder or an https address")
        return path if path.is_file() else None

    return Source(f"mirror {path}", "the folder of a mirror", fetch)


def _address(url: str, data_set: DataSet, wishes: Wishes, expected: Expected, dead_hosts: dict[str, str]) -> Source:
    shown = shown_address(url)
    host = urlsplit(url).netloc

    def fetch() -> Path:
        if host in dead_hosts:
            raise DownloadError(dead_hosts[host])
        target = wishes.folder / ARCHIVES / data_set.archive
        try:
            download(url, target, expected, wishes.patience)
        except DownloadError as error:
            if error.concerns_host:
                dead_hosts[host] = str(error)
            raise
        return target

    return Source(shown, shown, fetch, is_ours=True)
