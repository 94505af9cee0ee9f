"""`fedbandit report` from end to end: files, analysis runs in MLflow, missing data, and reuse of unchanged outputs."""

import re
import shutil
from pathlib import Path

import pytest

from benchmark.__main__ import main
from benchmark.records.reader import finished_runs, something_is_running
from benchmark.ui.server import find_experiment
from data_pipelines.prepare.prepared import data_folder
from reports.build import build, file_name, folder_of
from reports.write.record import ANALYSIS
from tests.reports.hand_made import HandMade, write_data, write_fig_a, write_user_groups
from tests.reports.whole_page import whole_page

pytestmark = pytest.mark.slow


@pytest.fixture
def copied(hand_made: HandMade, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> HandMade:
    """A copy of the store made by hand, next to its data, as the working directory."""
    for file in hand_made.folder.glob("mlflow.db*"):  # with its log
        shutil.copy(file, tmp_path)
    shutil.copytree(hand_made.folder / "data", tmp_path / "data")
    return as_working_directory(HandMade(tmp_path), monkeypatch)


def as_working_directory(store: HandMade, monkeypatch: pytest.MonkeyPatch) -> HandMade:
    """Work in the folder of the store, with its full URI: MLflow caches stores by URI in each process."""
    monkeypatch.chdir(store.folder)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", store.uri)
    return store


def files_in(folder: Path) -> dict[str, int]:
    return {
        path.relative_to(folder).as_posix(): path.stat().st_mtime_ns for path in folder.rglob("*.*") if path.is_file()
    }


def analysis_runs(store: HandMade, name: str) -> list[str]:
    experiment = store.store.find(name)
    assert experiment is not None
    return [run.info.run_id for run in store.store.search(experiment.experiment_id, "FINISHED", ANALYSIS)]


def artifacts(store: HandMade, run_id: str) -> set[str]:
    client = store.store.client
    return {file.path for kind in client.list_artifacts(run_id) for file in client.list_artifacts(run_id, kind.path)}


def test_a_report_is_written_and_logged_with_what_it_found_and_then_reused(
    copied: HandMade, capsys: pytest.CaptureFixture[str]
):
    assert main(["report"]) == 0
    output = capsys.readouterr().out
    assert "Delicious: RECONSTRUCTED DATA (214 of 220 interactions)" in output
    assert re.search(r"^page     file:///.*/reports/output/report\.html$", output, re.MULTILINE)
    assert "choose   fedbandit recommend" in output
    out = copied.folder / "reports/output"
    before = files_in(out)
    for name in ("paper_against_ours", "missing", "bounds", "user_groups_delicious"):
        assert {f"tables/{name}{suffix}" for suffix in (".csv", ".md", ".tex")} <= set(before)
    for name in ("fig_a", "users_delicious", "user_groups_delicious"):
        assert {f"figures/{name}.png", f"figures/{name}.svg"} <= set(before)
    (run_id,) = analysis_runs(copied, "fig_a")
    logged = artifacts(copied, run_id)
    assert {"figures/fig_a.png", "previews/fig_a.png"} <= logged
    for name in ("settings_fig_a_simulated-uniform", "missing"):
        assert {f"tables/{name}{suffix}" for suffix in (".csv", ".md", ".tex", ".html")} <= logged
    (groups,) = analysis_runs(copied, "user_groups")
    assert {"figures/users_delicious.png", "tables/user_groups_delicious.html"} <= artifacts(copied, groups)
    client = copied.store.client
    run = client.get_run(run_id)
    assert run.data.metrics["finished runs"] > 0
    counts = {name: value for name, value in run.data.metrics.items() if name.startswith("claims ")}
    assert counts
    assert all(value >= 1 and value == int(value) for value in counts.values())
    note = run.data.tags["mlflow.note.content"]
    assert f"](get-artifact?path=previews%2Ffig_a.png&run_uuid={run_id})" in note
    assert "**" not in note
    assert note.startswith("Simulation, uniform clients: ")
    assert "Claims and numbers of the paper: " in note.partition("![")[0]
    assert re.findall(r"path=previews%2F(\w+)\.png", note)[0] == "fig_a"
    assert run.data.tags["fedbandit.order"] == "0"
    assert "RECONSTRUCTED DATA" in client.get_run(groups).data.tags["mlflow.note.content"]
    (overview,) = analysis_runs(copied, "overview")
    assert {file.path for file in client.list_artifacts(overview)} == {"report.html"}
    assert client.get_run(overview).data.metrics.keys() >= counts.keys()

    assert main(["report"]) == 0
    assert "Nothing has changed since the last report" in capsys.readouterr().out
    assert files_in(out) == before

    copied.run("fig_a", "async-linucb", 3, 0, regret=300.0, communication=500)
    again = build()
    assert not again.is_unchanged
    after = files_in(out)
    assert after["figures/fig_a.png"] > before["figures/fig_a.png"]
    assert after["figures/users_delicious.png"] == before["figures/users_delicious.png"]
    (new,) = analysis_runs(copied, "fig_a")
    assert new != run_id
    assert analysis_runs(copied, "user_groups") != []


def test_a_report_on_one_experiment_does_not_change_the_full_one(copied: HandMade, capsys: pytest.CaptureFixture[str]):
    out = copied.folder / "reports/output"
    assert main(["report"]) == 0
    before = files_in(out)
    capsys.readouterr()

    assert main(["report", "fig_a"]) == 0
    output = capsys.readouterr().out
    assert f"tables   {Path('reports/output/fig_a/tables')} " in output
    assert f"figures  {Path('reports/output/fig_a/figures')} " in output
    assert re.search(r"^page     file:///.*/reports/output/fig_a/report\.html$", output, re.MULTILINE)
    partial = files_in(out / "fig_a")
    assert {"report.html", "figures/fig_a.png", "tables/settings_fig_a_simulated-uniform.md"} <= set(partial)
    assert "tables/user_groups_delicious.md" not in partial
    assert {name: time for name, time in files_in(out).items() if not name.startswith("fig_a/")} == before

    for arguments in (["report"], ["report", "fig_a"]):
        assert main(arguments) == 0
        assert "Nothing has changed since the last report" in capsys.readouterr().out


def test_folders_and_files_have_safe_short_names():
    names = {(): ".", ("fig_a", "fig_b"): "fig_a+fig_b", ("fig_*",): "fig__", ("a/b c",): "a_b_c"}
    for experiments, folder in names.items():
        assert folder_of(experiments) == Path("reports/output") / folder
    many = [f"experiment_{number}" for number in range(50)]
    assert len(folder_of(many).name) < 120
    assert folder_of(many) != folder_of(many[:-1])
    assert file_name("../../etc/x y") == "-..-etc-x-y"


def test_analysis_runs_do_not_count_as_runs(copied: HandMade):
    build(names=["fig_a"], out=copied.folder / "out")
    assert len(finished_runs(copied.store, ["fig_a", "user_groups"])) == 16
    experiment = copied.store.find("fig_a")
    assert experiment is not None
    copied.store.client.create_run(experiment.experiment_id, tags={"fedbandit.kind": ANALYSIS})
    assert not something_is_running(copied.store, ["fig_a"])
    assert find_experiment(copied.uri, None).name == "user_groups"  # its sweep is the latest; an analysis is none
    assert build(names=["fig_a"], out=copied.folder / "out").is_unchanged


def test_only_tables_or_only_figures_can_be_built(copied: HandMade, capsys: pytest.CaptureFixture[str]):
    out = copied.folder / "out"
    assert main(["report", "fig_a", "--only", "tables", "--out", str(out)]) == 0
    assert {path.parent.name for path in out.rglob("*.*") if path.suffix == ".md"} == {"tables"}
    assert not (out / "figures").exists()
    assert not (out / "report.html").exists()
    assert not (out / "tables" / "user_groups_delicious.md").exists()
    assert analysis_runs(copied, "fig_a") == []
    assert main(["report", "fig_a", "--only", "figures", "--out", str(out)]) == 0
    assert (out / "figures" / "fig_a.svg").is_file()
    assert (out / "tables" / "missing.md").is_file()


def test_a_damaged_or_deleted_file_is_made_again(copied: HandMade):
    out = copied.folder / "out"
    build(out=out, only="tables")
    assert build(out=out, only="tables").is_unchanged
    (out / "tables" / "missing.md").write_text("damaged")
    assert not build(out=out, only="tables").is_unchanged
    assert (out / "tables" / "missing.md").read_text().startswith("### Missing runs and data")
    (out / ".report.json").write_text("{")
    assert not build(out=out, only="tables").is_unchanged


def test_files_that_a_report_no_longer_has_are_removed(copied: HandMade):
    out = copied.folder / "out"
    build(out=out, only="tables")
    (out / "tables" / "mine.md").write_text("my own")
    build(names=["user_groups"], out=out, only="tables")
    assert not (out / "tables" / "settings_fig_a_simulated-uniform.md").exists()
    assert (out / "tables" / "mine.md").exists()


def test_a_table_that_fails_does_not_stop_the_others(copied: HandMade, monkeypatch: pytest.MonkeyPatch):
    from reports.tables import settings

    with monkeypatch.context() as patch:
        patch.setattr(settings, "tables", lambda results: 1 / 0)
        report = build(out=copied.folder / "out", only="tables")
    assert report.failures == (
        "could not create the tables of reports.tables.settings: ZeroDivisionError: division by zero",
    )
    assert report.tables > 3
    assert not build(out=copied.folder / "out", only="tables").is_unchanged


def test_stand_in_data_are_labelled_in_every_artifact(fresh: HandMade, monkeypatch: pytest.MonkeyPatch):
    as_working_directory(fresh, monkeypatch)
    write_user_groups(fresh, write_data(data_folder().absolute(), source="stand-in"), seeds=1)
    build()
    out = fresh.folder / "reports/output"
    paths = [path for path in out.rglob("*.*") if "delicious" in path.name and path.suffix != ".png"]
    assert {path.suffix for path in paths} == {".csv", ".md", ".tex", ".svg"}
    for path in [*paths, out / "report.html", *(out / "tables").glob("paper_against_ours.*")]:
        assert "STAND-IN DATA" in path.read_text(encoding="utf-8"), path
    (run_id,) = analysis_runs(fresh, "user_groups")
    run = fresh.store.client.get_run(run_id)
    assert "STAND-IN DATA" in run.data.tags["mlflow.note.content"]


def test_a_report_can_be_made_from_one_seed_and_without_data(fresh: HandMade, monkeypatch: pytest.MonkeyPatch):
    as_working_directory(fresh, monkeypatch)
    write_fig_a(fresh, seeds=1)
    write_user_groups(fresh, write_data(fresh.folder / "elsewhere"), seeds=1)
    report = build()
    assert report.failures == ()
    assert any("delicious is not prepared" in sentence for sentence in report.absent)
    page = whole_page((fresh.folder / "reports/output/report.html").read_text(encoding="utf-8"))
    assert "delicious is not prepared" in page
    assert "(no interval)" in (fresh.folder / "reports/output/tables/bounds_fig_a_simulated-uniform.md").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fig_x"], "unknown experiment 'fig_x'"),
        (["--out", "mlflow.db"], "--out must be a folder, got the file 'mlflow.db'"),
    ],
)
def test_bad_input_gives_a_one_line_error(
    copied: HandMade, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
):
    assert main(["report", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_an_empty_store_is_reported_as_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["report"]) == 2
    assert capsys.readouterr().err == (
        "fedbandit: error: no finished runs in sqlite:///mlflow.db; run `fedbandit run` first\n"
    )
    assert list(tmp_path.iterdir()) == []
