"""`fedbandit doctor`: every finding says what it looked at, and what to do where something is amiss."""

from pathlib import Path

import pytest

from benchmark import check_up
from benchmark.__main__ import main
from data_pipelines.readiness import Wishes, make_ready


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FEDBANDIT_DATA", str(tmp_path / "data"))
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)


def findings(scheduler: str | None = None) -> dict[str, check_up.Finding]:
    return {finding.subject: finding for finding in check_up.check_all(scheduler)}


def test_an_empty_folder_is_fine_and_stays_empty(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["doctor"]) == 0
    shown = capsys.readouterr().out
    for subject in ("python", "machine", "compiler cache", "disk, here", "data, lastfm", "store", "cluster"):
        assert f"  {subject} " in shown
    assert "-> fedbandit data lastfm --mirror" in shown
    assert "none yet, the first `fedbandit run` makes it" in shown
    assert not list(tmp_path.iterdir())


def test_a_stand_in_is_something_to_look_at(tmp_path: Path):
    make_ready("lastfm", Wishes(folder=tmp_path / "data", stand_in="small"))
    finding = findings()["data, lastfm"]
    assert finding.state == "look"
    assert "no result on it is a finding" in finding.advice


def test_a_full_disk_is_bad_and_the_exit_code_tells(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(check_up, "LEAST_DISK", 2**70)
    assert main(["doctor"]) == 1
    assert "BAD   disk, here" in capsys.readouterr().out


def test_a_cluster_that_is_not_there_is_bad():
    finding = findings("tcp://127.0.0.1:9")["cluster"]
    assert finding.state == "bad"
    assert "no Dask scheduler answers" in finding.what


def test_a_store_that_is_no_database_is_bad(tmp_path: Path):
    (tmp_path / "mlflow.db").write_text("not a database, but quite long enough to be taken for one" * 100)
    finding = findings()["store"]
    assert finding.state == "bad"
    assert "cannot be read" in finding.what
