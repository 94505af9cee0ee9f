import dataclasses
import json
import multiprocessing
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from data_pipelines import load, readiness
from data_pipelines.catalogue import find_data_set
from data_pipelines.data_set import DataSet
from data_pipelines.download import Patience
from data_pipelines.prepared import NotPreparedError, read_manifest
from data_pipelines.readiness import Outcome, make_ready
from data_pipelines.safe_files import sha256_of
from data_pipelines.sources import Wishes
from data_pipelines.status_table import status_table, ways_on
from tests.data_pipelines.tls_server import Server, cut_after, status, whole

ARCHIVE = "hetrec2011-lastfm-2k.zip"
HASTY = Patience(connect_seconds=2, read_seconds=0.5, attempts=1, first_pause=0.01)

Restate = Callable[..., None]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture(autouse=True)
def restate(monkeypatch: pytest.MonkeyPatch) -> Restate:
    """Let the data sets state something else; to begin with, that nothing is to be had from anywhere."""

    def change(**changes: object) -> None:
        def changed(name: str) -> DataSet:
            return dataclasses.replace(find_data_set(name), **changes)  # type: ignore[arg-type]

        monkeypatch.setattr(readiness, "find_data_set", changed)

    change(official_url="https://localhost:9/x.zip", copies=())
    return change


def ready(folder: Path, name: str = "lastfm", **options: object) -> Outcome:
    return make_ready(name, Wishes(folder=folder, patience=HASTY, **options))  # type: ignore[arg-type]


def prepared_bytes(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def without_mark(source: Path, target: Path) -> Path:
    """Copy a stand-in so that it passes for real data."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            if name != "STAND-IN.txt":
                new.writestr(name, old.read(name))
    return target


@pytest.fixture
def unmarked(stand_ins: Path, tmp_path: Path) -> Path:
    return without_mark(stand_ins / ARCHIVE, tmp_path / "mirror" / ARCHIVE)


def test_a_second_call_does_nothing(folder: Path, stand_ins: Path):
    first = ready(folder, mirror=str(stand_ins))
    before = {path: path.stat().st_mtime_ns for path in first.path.iterdir()}
    second = ready(folder)
    assert second.was_prepared_before
    assert second.manifest == first.manifest
    assert {path: path.stat().st_mtime_ns for path in second.path.iterdir()} == before


def test_an_archive_put_into_the_data_folder_goes_before_the_mirror(folder: Path, unmarked: Path, tmp_path: Path):
    folder.mkdir()
    shutil.copy(unmarked, folder)
    outcome = ready(folder, mirror=str(tmp_path / "no-mirror"))
    assert outcome.manifest is not None
    assert outcome.manifest["origin"] == "an archive in the data folder"


def test_a_useless_archive_in_the_data_folder_is_passed_over_and_named(folder: Path, unmarked: Path):
    folder.mkdir()
    (folder / ARCHIVE).write_bytes(b"<html>")
    outcome = ready(folder, mirror=str(unmarked.parent))
    assert outcome.manifest is not None
    assert outcome.manifest["origin"] == "the folder of a mirror"
    assert (folder / ARCHIVE).read_bytes() == b"<html>"
    alone = ready(folder, force=True)
    assert alone.manifest is None
    assert "truncated or no zip archive" in alone.tried[0]


def test_a_folder_as_mirror_is_read_in_place(folder: Path, unmarked: Path):
    ready(folder, mirror=str(unmarked.parent))
    assert not list(folder.rglob("*.zip"))


def test_a_mirror_that_is_not_there_is_said_so(folder: Path, tmp_path: Path):
    outcome = ready(folder, mirror=str(tmp_path / "nowhere"))
    assert "allowed are an existing folder or an https address" in outcome.tried[1]


def test_a_mirror_may_be_an_https_address(folder: Path, unmarked: Path, server: Server):
    server.behaviours = [cut_after(10_000, unmarked.read_bytes()), whole(unmarked.read_bytes())]
    outcome = ready(folder, mirror=f"{server.address}/some/place/")
    assert outcome.manifest is not None
    assert server.requests[0][0] == f"/some/place/{ARCHIVE}"
    assert outcome.manifest["source"] == "mirror"
    assert outcome.manifest["origin"] == f"{server.address}/some/place/{ARCHIVE}"


def test_a_password_in_a_mirrors_address_is_not_written_down(folder: Path, unmarked: Path, server: Server):
    server.behaviours = [whole(unmarked.read_bytes())]
    outcome = ready(folder, mirror=server.address.replace("https://", "https://me:secret@"))
    assert outcome.manifest is not None
    assert "secret" not in json.dumps(outcome.manifest)


def test_a_page_of_html_from_a_mirror_is_refused_and_not_kept(folder: Path, unmarked: Path, server: Server):
    server.behaviours = [whole(b"<html>please log in</html>")]
    outcome = ready(folder, mirror=server.address)
    assert outcome.manifest is None
    assert "no zip archive" in outcome.tried[1]
    server.behaviours = [whole(unmarked.read_bytes(), etag='"2"')]
    assert ready(folder, mirror=server.address).manifest is not None


def test_the_official_address_comes_after_the_mirror_and_then_further_copies(
    folder: Path, unmarked: Path, server: Server, restate: Restate, tmp_path: Path
):
    restate(
        official_url=f"{server.address}/official.zip",
        copies=(f"{server.address}/copy.zip",),
        sha256=sha256_of(unmarked),
        size=unmarked.stat().st_size,
    )
    server.behaviours = [status(404), whole(unmarked.read_bytes())]
    outcome = ready(folder, mirror=str(tmp_path))
    assert [path for path, _ in server.requests] == ["/official.zip", "/copy.zip"]
    assert outcome.manifest is not None
    assert (outcome.manifest["source"], outcome.manifest["verified"]) == ("official", "sha256 of the archive")


def test_official_bytes_are_official_wherever_they_come_from(folder: Path, unmarked: Path, restate: Restate):
    restate(sha256=sha256_of(unmarked))
    outcome = ready(folder, mirror=str(unmarked.parent))
    assert outcome.manifest is not None
    assert outcome.manifest["source"] == "official"


def test_bytes_from_the_official_address_must_have_the_official_hash(
    folder: Path, unmarked: Path, server: Server, restate: Restate
):
    restate(official_url=f"{server.address}/x.zip", sha256="0" * 64)
    server.behaviours = [whole(unmarked.read_bytes())]
    assert "wrong hash" in ready(folder).tried[-1]


def test_where_only_members_hashes_are_known_they_decide(
    folder: Path, unmarked: Path, server: Server, restate: Restate
):
    first = ready(folder, mirror=str(unmarked.parent)).manifest
    assert first is not None
    server.behaviours = [whole(unmarked.read_bytes())]
    known = dict(list(first["members"].items())[:2])
    restate(official_url=f"{server.address}/x.zip", sha256=None, member_sha256=known)
    second = ready(folder, force=True).manifest
    assert second is not None
    assert (second["source"], second["verified"]) == (
        "official",
        "sha256 of 2 of 4 members (of the others none is known)",
    )
    restate(official_url=f"{server.address}/x.zip", sha256=None, member_sha256={"tags.dat": "0" * 64})
    assert "wrong hash of tags.dat" in ready(folder, force=True).tried[-1]


def test_where_no_hash_is_known_that_is_said(folder: Path, unmarked: Path, server: Server, restate: Restate):
    restate(official_url=f"{server.address}/x.zip", sha256=None)
    server.behaviours = [whole(unmarked.read_bytes())]
    manifest = ready(folder).manifest
    assert manifest is not None
    assert manifest["verified"].startswith("unverified: no hash is known (sha256 recorded)")
    assert manifest["archive"]["sha256"] == sha256_of(unmarked)


def test_a_server_found_dead_is_not_asked_for_the_next_data_set(folder: Path):
    dead_hosts: dict[str, str] = {}
    for name in ("lastfm", "movielens"):
        make_ready(name, Wishes(folder=folder, patience=HASTY), dead_hosts=dead_hosts)
    assert list(dead_hosts) == ["localhost:9"]


def test_a_missing_data_set_is_reported_with_the_three_ways_on(folder: Path):
    outcome = ready(folder, name="movielens")
    assert outcome.manifest is None
    assert "MISSING" in status_table([outcome])
    text = ways_on(outcome, folder)
    assert text.count("\n") == 1
    assert "no connection" in text
    for way in ("--mirror DIR_OR_URL or FEDBANDIT_MIRROR", str(folder / "ml-20m.zip"), "--stand-in"):
        assert way in text


def test_a_stand_in_is_labelled_and_generated_without_any_search(folder: Path):
    outcome = ready(folder, stand_in="small", mirror="https://localhost:9")
    assert outcome.manifest is not None
    assert outcome.manifest["source"] == "stand-in"
    assert load("lastfm", seed=0, folder=folder).source == "stand-in"
    assert "no result on it is a finding" in status_table([outcome])


def test_a_stand_in_is_known_for_one_even_as_an_archive_put_by_hand(folder: Path, stand_ins: Path):
    folder.mkdir()
    shutil.copy(stand_ins / ARCHIVE, folder)
    manifest = ready(folder).manifest
    assert manifest is not None
    assert manifest["source"] == "stand-in"


def test_a_generated_stand_in_does_not_pass_for_the_data_asked_for(folder: Path, unmarked: Path):
    ready(folder, stand_in="small")
    missing = ready(folder)
    assert missing.manifest is None
    assert missing.tried[-1].endswith("(a stand-in, which is not what was asked for)")
    assert load("lastfm", seed=0, folder=folder).source == "stand-in"
    real = ready(folder, mirror=str(unmarked.parent)).manifest
    assert real is not None
    assert real["source"] == "mirror"
    kept = ready(folder, stand_in="small").manifest
    assert kept is not None
    assert kept["source"] == "mirror"


def test_other_parameters_prepare_anew_and_change_the_fingerprint(folder: Path, stand_ins: Path):
    wishes = Wishes(folder=folder, mirror=str(stand_ins))
    first = make_ready("movielens", wishes).manifest
    second = make_ready("movielens", wishes, parameters={"least_rating": 0.5}, dimension=10).manifest
    assert first is not None
    assert second is not None
    assert second["parameters"] == {"least_rating": 0.5, "observations_above": 3_000, "dimension": 10}
    assert first["fingerprint"] != second["fingerprint"]
    assert load("movielens", seed=0, folder=folder).dimension == 10


@pytest.mark.parametrize(
    ("parameters", "complaint"),
    [
        ({"rating": 1}, "parameter 'rating' is unknown to movielens; allowed are least_rating"),
        ({"least_rating": -1}, "least_rating is -1; allowed are finite numbers from 0"),
    ],
)
def test_wrong_parameters_are_named(folder: Path, parameters: dict[str, float], complaint: str):
    with pytest.raises(ValueError, match=complaint):
        make_ready("movielens", Wishes(folder=folder), parameters=parameters)


def test_parameters_that_leave_nothing_do_not_cost_the_archive(folder: Path):
    wishes = Wishes(folder=folder, stand_in="small")
    outcome = make_ready("movielens", wishes, parameters={"observations_above": 10**6})
    assert "no user with more than 1e+06 ratings" in outcome.tried[0]
    assert (folder / "stand-ins" / "small" / "ml-20m.zip").is_file()


def test_the_manifest_says_what_there_is_to_know(folder: Path, unmarked: Path):
    path = ready(folder, mirror=str(unmarked.parent)).path
    manifest = json.loads((path / "manifest.json").read_text())
    assert manifest["archive"]["sha256"] == sha256_of(unmarked)
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


def test_preparing_again_gives_the_same_bytes(folder: Path, stand_ins: Path):
    for name in ("lastfm", "delicious", "movielens"):
        first = prepared_bytes(ready(folder, name=name, mirror=str(stand_ins)).path)
        second = prepared_bytes(ready(folder, name=name, mirror=str(stand_ins), force=True).path)
        assert first == second


def test_what_is_ready_needs_no_lock(folder: Path, stand_ins: Path):
    ready(folder, mirror=str(stand_ins))
    shutil.rmtree(folder / ".locks")
    assert ready(folder).was_prepared_before
    assert not (folder / ".locks").exists()


def test_damaged_arrays_are_detected_and_prepared_anew(folder: Path, stand_ins: Path, capsys):
    path = ready(folder, mirror=str(stand_ins)).path
    sound = prepared_bytes(path)
    for file in sorted(sound):
        (path / file).write_bytes(sound[file][:-8] + b"12345678")
        with pytest.raises(ValueError, match="run: fedbandit data lastfm"):
            load("lastfm", seed=0, folder=folder)
        capsys.readouterr()
        assert ready(folder, mirror=str(stand_ins)).manifest is not None
        assert "damaged" in capsys.readouterr().err
        assert prepared_bytes(path) == sound


def test_any_single_changed_byte_of_a_manifest_is_detected(folder: Path, stand_ins: Path):
    path = ready(folder, mirror=str(stand_ins)).path / "manifest.json"
    sound = path.read_bytes()
    read_manifest(path.parent)
    for place in range(0, len(sound), 7):
        for change in (1, 32):
            damaged = bytearray(sound)
            damaged[place] ^= change
            path.write_bytes(damaged)
            with pytest.raises(NotPreparedError, match="run: fedbandit data lastfm"):
                read_manifest(path.parent)


def test_data_of_another_pipeline_version_are_prepared_anew(folder: Path, stand_ins: Path, monkeypatch):
    ready(folder, mirror=str(stand_ins))
    monkeypatch.setattr("data_pipelines.prepared.PIPELINE_VERSION", 999)
    outcome = ready(folder, mirror=str(stand_ins))
    assert outcome.manifest is not None
    assert not outcome.was_prepared_before
    assert outcome.manifest["pipeline_version"] == 999


def _prepare_in_another_process(folder: Path, mirror: Path, results: "multiprocessing.Queue[bool]") -> None:
    outcome = make_ready("delicious", Wishes(folder=folder, mirror=str(mirror)))
    results.put(outcome.was_prepared_before)


def test_of_two_processes_one_prepares_and_the_other_waits(folder: Path, stand_ins: Path):
    context = multiprocessing.get_context("spawn")
    results: multiprocessing.Queue[bool] = context.Queue()
    workers = [context.Process(target=_prepare_in_another_process, args=(folder, stand_ins, results)) for _ in range(2)]
    for worker in workers:
        worker.start()
    found = sorted(results.get(timeout=60) for _ in workers)
    for worker in workers:
        worker.join()
    results.close()
    assert found == [False, True]
    assert load("delicious", seed=0, folder=folder).steps == 5_239
