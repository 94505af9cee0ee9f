"""Fixtures for the tests of the data pipelines: hand-made archives, stand-ins, the real mirror."""

import os
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from data_pipelines.data_set import Contents, data_set_names, find_data_set
from data_pipelines.fetch.archive import Archive
from data_pipelines.fetch.sources import PreparationOptions
from data_pipelines.prepare.readiness import make_ready
from tests.data_pipelines.archives import MEMBERS as ARCHIVES
from tests.data_pipelines.archives import write_archive
from tests.data_pipelines.tls_server import Authority, Server, running

MakeArchive = Callable[[Mapping[str, bytes]], Path]

WITH_TWO_PREPARATIONS = ("lastfm", "delicious", "lastfm-tagged", "delicious-tagged")
WITH_STAND_IN = [name for name in data_set_names() if find_data_set(name).stand_in is not None]

LASTFM = {
    "artists.dat": b"id\tname\turl\tpictureURL\r\n1\tA\tu\tp\r\n2\tB\tu\tp\r\n3\tC\tu\tp\r\n",
    "tags.dat": b"tagID\ttagValue\r\n7\tdeath metal\r\n8\t80's pop\r\n",
    "user_artists.dat": b"userID\tartistID\tweight\r\n5\t1\t10\r\n5\t2\t3\r\n9\t3\t1\r\n",
    "user_taggedartists.dat": (
        b"userID\tartistID\ttagID\tday\tmonth\tyear\r\n"
        b"5\t1\t7\t1\t4\t2009\r\n9\t1\t7\t1\t4\t2009\r\n9\t2\t8\t1\t5\t2010\r\n"
    ),
}


@pytest.fixture(autouse=True)
def _without_user_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FEDBANDIT_MIRROR", "FEDBANDIT_DATA", "FEDBANDIT_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    # No test reaches a package index unless it asks for one.
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)


@pytest.fixture
def lastfm_members() -> dict[str, bytes]:
    """Three artists, two users and four words, in the official format."""
    return dict(LASTFM)


@pytest.fixture
def make_archive(tmp_path: Path) -> MakeArchive:
    def make(members: Mapping[str, bytes]) -> Path:
        path = tmp_path / "archive.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in members.items():
                archive.writestr(name, content)
        return path

    return make


def read_archive(name: str, path: Path, **parameters: float) -> Contents:
    """Read a data set from an archive, with other parameters than its own."""
    data_set = find_data_set(name)
    assert data_set.read is not None
    with Archive(path, data_set.limits) as archive:
        return data_set.read(archive, {**data_set.parameters, **parameters})


@pytest.fixture(scope="session")
def mirror(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A mirror of small archives in the official formats."""
    folder = tmp_path_factory.mktemp("mirror")
    for name in ARCHIVES:
        write_archive(name, folder)
    return folder


@pytest.fixture(scope="session")
def small_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with all small stand-ins prepared."""
    folder = tmp_path_factory.mktemp("data")
    for name in WITH_STAND_IN:
        assert make_ready(name, PreparationOptions(folder=folder, stand_in="small")).manifest is not None
    return folder


@pytest.fixture(scope="session")
def real_mirror() -> Path:
    """The folder with the real archives; without it, the tests that need them are skipped."""
    mirror = os.environ.get("FEDBANDIT_MIRROR")
    folder = Path(mirror) if mirror else Path(__file__).parents[3] / "shared" / "datasets"
    if not (folder / "hetrec2011-lastfm-2k.zip").is_file():
        pytest.skip("NOT RUN: the real archives are neither in FEDBANDIT_MIRROR nor in ../shared/datasets")
    return folder


@pytest.fixture(scope="session")
def real_data(real_mirror: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with LastFM and Delicious, in all preparations, from the real archives."""
    folder = tmp_path_factory.mktemp("real-data")
    for name in (*WITH_TWO_PREPARATIONS, "lastfm-tagged-own-words", "lastfm-tagged-other-words"):
        assert make_ready(name, PreparationOptions(folder=folder, mirror=str(real_mirror))).manifest is not None
    return folder


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def server(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """An https server on loopback with a trusted certificate."""
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(authority.bundle))
    with running(authority.server_certificate()) as server:
        yield server
