import dataclasses
import json
import multiprocessing
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from data_pipelines import load
from data_pipelines.data_set import DataSet, find_data_set
from data_pipelines.fetch.download import Patience
from data_pipelines.fetch.sources import PreparationOptions
from data_pipelines.prepare import readiness
from data_pipelines.prepare.prepared import NotPreparedError, read_manifest
from data_pipelines.prepare.readiness import PreparationResult, make_ready, problem_lines, status_table
from data_pipelines.support.files import sha256_of
from tests.data_pipelines.tls_server import Server, status, whole

ARCHIVE = "hetrec2011-lastfm-2k.zip"
HASTY = Patience(connect_seconds=2, read_seconds=0.5, attempts=1, first_pause=0.01)

Redeclare = Callable[..., None]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture(autouse=True)
def redeclare(monkeypatch: pytest.MonkeyPatch) -> Redeclare:
    """Change the declarations of the data sets; initially, no data set can be downloaded."""

    def change(**changes: object) -> None:
        def changed_data_set(name: str) -> DataSet:
            return dataclasses.replace(find_data_set(name), packages=(), **changes)  # type: ignore[arg-type]

        monkeypatch.setattr(readiness, "find_data_set", changed_data_set)

    change(official_url="https://localhost:9/x.zip", copies=())
    return change


def ready(folder: Path, name: str = "lastfm", **options: object) -> PreparationResult:
    return make_ready(name, PreparationOptions(folder=folder, patience=HASTY, **options))  # type: ignore[arg-type]


def prepared_bytes(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.fixture
def archive(mirror: Path) -> Path:
    return mirror / ARCHIVE


def test_a_second_call_does_nothing(folder: Path, mirror: Path):
    first = ready(folder, mirror=str(mirror))
    before = {path: path.stat().st_mtime_ns for path in first.path.iterdir()}
    second = ready(folder)
    assert second.was_prepared_before
    assert second.manifest == first.manifest
    assert {path: path.stat().st_mtime_ns for path in second.path.iterdir()} == before


def test_an_archive_in_the_data_folder_is_used_before_the_mirror(folder: Path, archive: Path, tmp_path: Path):
    folder.mkdir()
    shutil.copy(archive, folder)
    result = ready(folder, mirror=str(tmp_path / "no-mirror"))
    assert result.manifest is not None
    assert result.manifest["origin"] == "an archive in the data folder"


def test_an_unusable_archive_in_the_data_folder_is_skipped_and_reported(folder: Path, archive: Path):
    folder.mkdir()
    (folder / ARCHIVE).write_bytes(b"<html>")
    result = ready(folder, mirror=str(archive.parent))
    assert result.manifest is not None
    assert result.manifest["origin"] == "the folder of a mirror"
    assert (folder / ARCHIVE).read_bytes() == b"<html>"
    without_mirror = ready(folder, force=True)
    assert without_mirror.manifest is None
    assert "truncated or not a zip archive" in str(without_mirror.tried[0])


def test_a_mirror_that_does_not_exist_is_reported(folder: Path, tmp_path: Path):
    result = ready(folder, mirror=str(tmp_path / "nowhere"))
    assert "mirror must be an existing folder or an https address, got" in str(result.tried[1])


def test_a_password_in_the_address_of_a_mirror_is_not_stored(folder: Path, archive: Path, server: Server):
    server.behaviours = [whole(archive.read_bytes())]
    result = ready(folder, mirror=server.address.replace("https://", "https://me:secret@"))
    assert result.manifest is not None
    assert "secret" not in json.dumps(result.manifest)


def test_an_html_page_from_a_mirror_is_refused_and_deleted(folder: Path, archive: Path, server: Server):
    server.behaviours = [whole(b"<html>please log in</html>")]
    result = ready(folder, mirror=server.address)
    assert result.manifest is None
    assert "not a zip archive" in str(result.tried[1])
    server.behaviours = [whole(archive.read_bytes(), etag='"2"')]
    assert ready(folder, mirror=server.address).manifest is not None


def test_the_official_address_is_tried_after_the_mirror_and_before_further_copies(
    folder: Path, archive: Path, server: Server, redeclare: Redeclare, tmp_path: Path
):
    redeclare(
        official_url=f"{server.address}/official.zip",
        copies=(f"{server.address}/copy.zip",),
        sha256=sha256_of(archive),
        size=archive.stat().st_size,
    )
    server.behaviours = [status(404), whole(archive.read_bytes())]
    result = ready(folder, mirror=str(tmp_path))
    assert [path for path, _ in server.requests] == ["/official.zip", "/copy.zip"]
    assert result.manifest is not None
    assert (result.manifest["source"], result.manifest["verified"]) == ("official", "sha256 of the archive")


def test_bytes_from_the_official_address_must_have_the_official_hash(
    folder: Path, archive: Path, server: Server, redeclare: Redeclare
):
    redeclare(official_url=f"{server.address}/x.zip", sha256="0" * 64)
    server.behaviours = [whole(archive.read_bytes())]
    assert "wrong hash" in str(ready(folder).tried[-1])


def test_if_only_hashes_of_members_are_known_they_are_checked(
    folder: Path, archive: Path, server: Server, redeclare: Redeclare
):
    first = ready(folder, mirror=str(archive.parent)).manifest
    assert first is not None
    server.behaviours = [whole(archive.read_bytes())]
    known_hashes = dict(list(first["members"].items())[:2])
    redeclare(official_url=f"{server.address}/x.zip", sha256=None, member_sha256=known_hashes)
    second = ready(folder, force=True).manifest
    assert second is not None
    assert (second["source"], second["verified"]) == (
        "official",
        "sha256 of 2 of 4 members (the others have no known hash)",
    )
    redeclare(official_url=f"{server.address}/x.zip", sha256=None, member_sha256={"tags.dat": "0" * 64})
    assert "wrong hash of tags.dat" in str(ready(folder, force=True).tried[-1])


def test_data_without_a_known_hash_are_reported_as_unverified(
    folder: Path, archive: Path, server: Server, redeclare: Redeclare
):
    redeclare(official_url=f"{server.address}/x.zip", sha256=None)
    server.behaviours = [whole(archive.read_bytes())]
    manifest = ready(folder).manifest
    assert manifest is not None
    assert manifest["verified"].startswith("unverified: no hash is known (sha256 recorded)")
    assert manifest["archive"]["sha256"] == sha256_of(archive)


def test_a_stand_in_is_labelled_and_generated_without_trying_other_sources(folder: Path):
    result = ready(folder, stand_in="small", mirror="https://localhost:9")
    assert result.manifest is not None
    assert result.manifest["source"] == "stand-in"
    assert load("lastfm", seed=0, folder=folder).source == "stand-in"
    assert "stand-in" in status_table([result])
    assert problem_lines([result], {}, {}) == ["lastfm: STAND-IN DATA (generated), not a valid result"]


def test_a_generated_stand_in_does_not_satisfy_a_request_for_real_data(folder: Path, archive: Path):
    ready(folder, stand_in="small")
    missing = ready(folder)
    assert missing.manifest is None
    assert str(missing.tried[-1]).endswith("(a stand-in, but real data was requested)")
    assert load("lastfm", seed=0, folder=folder).source == "stand-in"
    real = ready(folder, mirror=str(archive.parent)).manifest
    assert real is not None
    assert real["source"] == "mirror"
    unchanged = ready(folder, stand_in="small").manifest
    assert unchanged is not None
    assert unchanged["source"] == "mirror"


def test_other_parameters_prepare_again_and_change_the_fingerprint(folder: Path, mirror: Path):
    options = PreparationOptions(folder=folder, mirror=str(mirror))
    first = make_ready("movielens", options).manifest
    second = make_ready("movielens", options, parameters={"least_rating": 0.5}, dimension=10).manifest
    assert first is not None
    assert second is not None
    assert second["parameters"] == {"least_rating": 0.5, "observations_above": 3_000, "dimension": 10}
    assert first["fingerprint"] != second["fingerprint"]
    assert load("movielens", seed=0, folder=folder).dimension == 10


def test_the_manifest_is_complete(folder: Path, archive: Path):
    path = ready(folder, mirror=str(archive.parent)).path
    manifest = json.loads((path / "manifest.json").read_text())
    assert manifest["archive"]["sha256"] == sha256_of(archive)
    assert set(manifest["members"]) == {
        "artists.dat",
        "tags.dat",
        "user_artists.dat",
        "user_taggedartists.dat",
    }
    assert manifest["counts"]["published"] == {"users": 1_892, "items": 17_632, "interactions": 92_834}
    assert manifest["counts"]["observed"]["users"] == 94
    assert manifest["parameters"] == {"dimension": 25}
    assert manifest["licence"].startswith("Non-commercial")
    assert manifest["versions"]["numpy"] == np.__version__
    assert len(manifest["fingerprint"]) == 64
    for file, sha256 in manifest["arrays"].items():
        assert sha256_of(path / file) == sha256
    assert str(folder) not in json.dumps(manifest)


def test_preparing_again_gives_the_same_bytes(folder: Path, mirror: Path):
    for name in ("lastfm", "delicious", "movielens"):
        first = prepared_bytes(ready(folder, name=name, mirror=str(mirror)).path)
        second = prepared_bytes(ready(folder, name=name, mirror=str(mirror), force=True).path)
        assert first == second


def test_damaged_arrays_are_detected_and_prepared_again(folder: Path, mirror: Path, capsys):
    path = ready(folder, mirror=str(mirror)).path
    original = prepared_bytes(path)
    for file in sorted(original):
        (path / file).write_bytes(original[file][:-8] + b"12345678")
        with pytest.raises(ValueError, match="run: fedbandit data lastfm"):
            load("lastfm", seed=0, folder=folder)
        capsys.readouterr()
        assert ready(folder, mirror=str(mirror)).manifest is not None
        assert "damaged" in capsys.readouterr().err
        assert prepared_bytes(path) == original


def test_any_single_changed_byte_of_a_manifest_is_detected(folder: Path, mirror: Path):
    path = ready(folder, mirror=str(mirror)).path / "manifest.json"
    original = path.read_bytes()
    read_manifest(path.parent)
    for position in range(0, len(original), 7):
        for change in (1, 32):
            content = bytearray(original)
            content[position] ^= change
            path.write_bytes(content)
            with pytest.raises(NotPreparedError, match="run: fedbandit data lastfm"):
                read_manifest(path.parent)


def test_data_of_another_pipeline_version_are_prepared_again(folder: Path, mirror: Path, monkeypatch):
    ready(folder, mirror=str(mirror))
    monkeypatch.setattr("data_pipelines.prepare.prepared.PIPELINE_VERSION", 999)
    result = ready(folder, mirror=str(mirror))
    assert result.manifest is not None
    assert not result.was_prepared_before
    assert result.manifest["pipeline_version"] == 999


def _prepare_in_another_process(folder: Path, mirror: Path, results: "multiprocessing.Queue[bool]") -> None:
    result = make_ready("delicious", PreparationOptions(folder=folder, mirror=str(mirror)))
    results.put(result.was_prepared_before)


@pytest.mark.slow
def test_one_of_two_processes_prepares_and_the_other_waits(folder: Path, mirror: Path):
    context = multiprocessing.get_context("spawn")
    results: multiprocessing.Queue[bool] = context.Queue()
    workers = [context.Process(target=_prepare_in_another_process, args=(folder, mirror, results)) for _ in range(2)]
    for worker in workers:
        worker.start()
    were_prepared_before = sorted(results.get(timeout=300) for _ in workers)
    for worker in workers:
        worker.join()
    results.close()
    assert were_prepared_before == [False, True]
    assert load("delicious", seed=0, folder=folder).steps == 5_239
