"""`fedbandit doctor`: every check names its subject and, if something is wrong, what to do."""

import re
from pathlib import Path

import pytest

from algorithms import AsyncLinUCBAM
from benchmark.__main__ import main
from benchmark.commands import doctor
from benchmark.execution import compilation
from benchmark.execution.compilation import kernel_of
from data_pipelines.prepare.readiness import PreparationOptions, make_ready
from tests.readme import DOCS


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FEDBANDIT_DATA", str(tmp_path / "data"))
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)


def checks(scheduler: str | None = None) -> dict[str, doctor.Check]:
    return {check.subject: check for check in doctor.check_all(scheduler)}


def test_doctor_accepts_an_empty_folder_and_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["doctor"]) == 0
    output = capsys.readouterr().out
    for subject in ("python", "machine", "compiler cache", "disk (results)", "data sets", "store"):
        assert f"  {subject} " in output
    assert "none is prepared" in output
    assert output.count("fedbandit data") == 1  # said once
    assert "cluster" not in output
    assert all(len(line) <= 80 or "/" in line for line in output.splitlines()), "only paths are not broken"
    assert "does not exist yet; the first `fedbandit run` creates it" in " ".join(output.split())
    assert not list(tmp_path.iterdir())


def test_a_stand_in_gives_a_warning(tmp_path: Path):
    make_ready("lastfm", PreparationOptions(folder=tmp_path / "data", stand_in="small"))
    check = checks()["stand-in data"]
    assert (check.state, check.result) == ("warn", "lastfm")
    assert "no valid results" in check.advice
    missing = [each for each in doctor.check_all(None) if each.result.startswith("not prepared: ")]
    assert len(missing) == 1  # one line for all that the shipped experiments lack
    assert "delicious, " in missing[0].result


def test_a_folder_with_own_data_is_told_of_no_other_data(tmp_path: Path):
    (tmp_path / "clicks.csv").write_text("user,item,time\n" + "".join(f"{n % 7},{n % 30},{n}\n" for n in range(90)))
    assert main(["data", "import", "--interactions", "clicks.csv"]) == 0
    lines = [check for check in doctor.check_all(None) if check.subject in ("data sets", "stand-in data")]
    assert [(check.state, check.result) for check in lines] == [("ok", "prepared: clicks")]


def test_a_full_disk_fails_and_sets_the_exit_code(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(doctor, "MIN_DISK", 2**70)
    assert main(["doctor"]) == 1
    assert "FAIL  disk (results)" in capsys.readouterr().out


def test_an_unreachable_cluster_fails_and_the_advice_names_a_section_of_the_documentation(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr("benchmark.execution.dask_cluster.SECONDS_TO_CONNECT", 0.5)
    check = checks("tcp://127.0.0.1:9")["cluster"]
    assert check.state == "fail"
    assert "no Dask scheduler responds" in check.result
    headings = re.findall(r"^#+ (.+)$", (DOCS / "cluster.md").read_text(), re.MULTILINE)
    (section,) = re.findall(r"section '(.+)' of docs/cluster\.md", check.advice)
    assert section in headings


def test_a_store_that_is_not_a_database_fails(tmp_path: Path):
    (tmp_path / "mlflow.db").write_text("not a database, but quite long enough to be taken for one" * 100)
    check = checks()["store"]
    assert check.state == "fail"
    assert "cannot be read" in check.result


def test_kernels_that_are_not_compiled_are_listed_even_if_others_are_compiled(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(compilation, "is_compiled", lambda method: kernel_of(method) != "async-linucb-am")
    check = checks()["compiler cache"]
    assert (check.state, check.result) == ("ok", "not compiled yet: async-linucb-am")
    assert f"about {AsyncLinUCBAM.compile_seconds} s" in check.advice
    monkeypatch.setattr(compilation, "is_compiled", lambda method: True)
    assert "all methods are compiled" in checks()["compiler cache"].result
