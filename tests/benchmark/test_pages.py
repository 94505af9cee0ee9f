"""What MLflow's pages show: one run per setting with its seeds nested below it, an overview, charts, descriptions."""

import io
import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from benchmark.records.artifacts import CURVE, local_folder, read_curves
from benchmark.records.reader import (
    experiments_with_runs,
    finished_runs,
    read,
    read_aggregates,
    read_sweeps,
    something_is_running,
)
from benchmark.records.store import RunContent, Store
from benchmark.records.tags import KIND, PARENT
from benchmark.records.tracking import StoreError
from benchmark.results.stored import archive_runs, select_runs
from benchmark.statistics.intervals import mean_interval
from benchmark.ui.chart_views import TAG_PREFIX, VIEW_KEY
from benchmark.ui.pages import OVERVIEW, are_current, picture, update_pages
from data_pipelines.data_label import STAND_IN
from tests.benchmark.recorded import SETTINGS, planned, record_all, result_of, store_in, tiny

ONE = '{ simulated = "uniform", steps = 40, clients = 20, arms = 5, dimension = 4 }'
TWO_STREAMS = {ONE: f"{ONE}, {ONE.replace('uniform', 'non-uniform')}"}


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.chdir(tmp_path)
    store = store_in(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", store.uri)
    monkeypatch.setattr("benchmark.ui.pages.picture", lambda *_: b"not drawn, which saves time")
    return store


def shown(store: Store, kind: str = "setting", experiment: str = "tiny") -> list[Any]:
    """The runs of a kind in an experiment, by name."""
    runs = store.search(store.experiment_ids()[experiment], None, kind)
    return sorted(runs, key=lambda run: str(run.info.run_name))


def test_every_setting_is_one_run_with_means_and_its_seeds_nested_below_it(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("benchmark.ui.pages.picture", picture)
    ids = record_all(store, tiny(tmp_path), (0, 1, 2))
    assert update_pages(store, ["tiny"]) == SETTINGS
    settings = shown(store)
    assert [run.info.run_name for run in settings] == [
        "Async-LinUCB γ=1 on Simulation, uniform clients, 3 seeds",
        "Async-LinUCB γ=1.01 on Simulation, uniform clients, 3 seeds",
        "Async-LinUCB γ=101 on Simulation, uniform clients, 3 seeds",
        "Async-LinUCB γ=2 on Simulation, uniform clients, 3 seeds",
        "Async-LinUCB γ=∞ on Simulation, uniform clients, 3 seeds",
        "Sync-LinUCB D=0.01 on Simulation, uniform clients, 3 seeds",
        "Sync-LinUCB D=1 on Simulation, uniform clients, 3 seeds",
        "Sync-LinUCB D=100 on Simulation, uniform clients, 3 seeds",
    ]
    first = settings[0]
    mean, low, high = mean_interval([100.0, 101.0, 102.0])
    assert first.data.metrics == pytest.approx(
        {
            **{"regret": mean, "regret low": low, "regret high": high, "seeds": 3, "communication": 200},
            **{"log10 of messages sent": 2.303196, "transfers per client": 10, "full transfers per client": 10},
            "running time in seconds": 0.5,
        }
    )
    visible = [name for name in first.data.tags if not name.startswith(("mlflow.", "fedbandit."))]
    assert visible == ["Method", "Setting", "Data", "Seeds"]
    assert first.data.params["algorithm"] == "async-linucb"
    assert "regret 101 (mean over 3 seeds, 95 % interval 98.52 to 103.5)" in first.data.tags["mlflow.note.content"]
    parents = {run_id: store.client.get_run(run_id).data.tags[PARENT] for run_id in ids}
    by_parent = {run.info.run_id: [each for each in ids if parents[each] == run.info.run_id] for run in settings}
    assert sorted(len(children) for children in by_parent.values()) == [3] * SETTINGS
    seeds = {store.client.get_run(each).data.tags["Seed"] for each in by_parent[first.info.run_id]}
    assert seeds == {"0", "1", "2"}

    assert store.find("tiny").tags["mlflow.note.content"] == "Tiny."
    check_curves(store)


def check_curves(store: Store) -> None:
    """The curves of a setting are a small table and a picture."""
    folder = local_folder(shown(store)[0].info.artifact_uri)
    assert folder is not None
    table = pd.read_csv(io.BytesIO((folder / "curve.csv").read_bytes()))
    assert [*table] == [
        *("step", "regret", "regret_low", "regret_high"),
        *("communication", "communication_low", "communication_high"),
    ]
    assert table["step"].tolist() == [1, 20, 40]
    assert table["regret"].tolist() == [3, 60, 120]
    mean, low, high = mean_interval([80.0, 120.0, 160.0])
    assert table.iloc[-1, 1:4].tolist() == pytest.approx([mean, low, high])
    assert (folder / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_nothing_is_written_twice_and_only_changed_settings_are_rewritten_under_their_ids(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    experiment = tiny(tmp_path)
    record_all(store, experiment, (0, 1, 2))
    assert not are_current(store, ["tiny"], finished_runs(store, ["tiny"]))
    update_pages(store, ["tiny"])
    before = {run.info.run_id: run.info.end_time for run in shown(store)}
    assert are_current(store, ["tiny"], finished_runs(store, ["tiny"]))
    monkeypatch.setattr(Store, "write", lambda *_: pytest.fail("nothing has changed"))
    assert update_pages(store, ["tiny"]) == 0
    monkeypatch.undo()
    runs = planned(experiment, (3,))
    sweep = store.begin_sweep(experiment.info, "quick", 1)
    store.record(sweep, experiment.info, runs[0], result_of(runs[0]))
    assert update_pages(store, ["tiny"]) == 1
    after = {run.info.run_id: run.info.end_time for run in shown(store)}
    assert after.keys() == before.keys()
    assert sum(after[run_id] != before[run_id] for run_id in before) == 1
    assert sum("4 seeds" in run.info.run_name and run.data.metrics["seeds"] == 4 for run in shown(store)) == 1


def test_settings_are_never_results(store: Store, tmp_path: Path):
    record_all(store, tiny(tmp_path), (0, 1, 2))
    before = [run.run_id for run in read(store.uri)], experiments_with_runs(store), read_sweeps(store.uri)
    update_pages(store, ["tiny"])
    after = [run.run_id for run in read(store.uri)], experiments_with_runs(store), read_sweeps(store.uri)
    assert after == before
    assert len(finished_runs(store, ["tiny", "overview"])) == 3 * SETTINGS
    assert len(select_runs()) == 3 * SETTINGS
    assert not something_is_running(store, ["tiny", "overview"])
    assert len(read_aggregates(store, ["tiny"])) == SETTINGS


def test_archived_runs_leave_the_means_and_restored_ones_return(store: Store, tmp_path: Path):
    record_all(store, tiny(tmp_path), (0, 1, 2))
    update_pages(store, ["tiny"])
    runs = select_runs("tiny")
    archive_runs([run for run in runs if run.seed == 2])
    assert {run.data.metrics["seeds"] for run in shown(store)} == {2}
    assert {run.data.metrics["regret"] for run in shown(store)} == {100.5}
    assert all(math.isnan(run.data.metrics["regret low"]) for run in shown(store))  # too few seeds for an interval
    archive_runs([run for run in runs if run.seed != 2])
    assert shown(store) == []
    assert shown(store, "overview", "overview")[0].data.metrics["finished runs"] == 0
    archive_runs(runs, restore=True)
    assert {run.data.metrics["seeds"] for run in shown(store)} == {3}
    assert len(shown(store)) == SETTINGS


def test_an_update_that_was_killed_is_repeated(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    record_all(store, tiny(tmp_path), (0, 1, 2))
    write, calls = Store.write, []

    def write_once(self: Store, run: RunContent) -> tuple[str, str]:
        calls.append(run)
        if len(calls) > 3:
            raise KeyboardInterrupt
        return write(self, run)

    monkeypatch.setattr(Store, "write", write_once)
    with pytest.raises(KeyboardInterrupt):
        update_pages(store, ["tiny"])
    monkeypatch.setattr(Store, "write", write)
    assert len(shown(store)) == 3
    assert len(finished_runs(store, ["tiny"])) == 3 * SETTINGS
    assert update_pages(store, ["tiny"]) == SETTINGS - 3
    assert len(shown(store)) == SETTINGS


def test_seeds_that_choose_settings_are_never_in_a_reported_mean(store: Store, tmp_path: Path):
    experiment = tiny(tmp_path)
    record_all(store, experiment, (0, 1, 2))
    choosing = record_all(store, experiment, (10_000, 10_001), regret=0.0)
    update_pages(store, ["tiny"])
    assert [run.data.metrics["regret"] for run in shown(store)] == SETTINGS * [101.0]
    parents = {store.client.get_run(run_id).data.tags[PARENT] for run_id in choosing}
    assert {store.client.get_run(parent).data.tags[KIND] for parent in parents} == {"sweep"}
    view = json.loads(store.find("tiny").tags[TAG_PREFIX + VIEW_KEY])
    hidden = json.loads(view["state"])["searchFilter"].split("'%")[1].split("%'")[0]
    assert {hidden in run.data.tags.get("fedbandit.shown", "") for run in shown(store)} == {True}


def test_the_overview_has_one_line_per_experiment_with_a_link(store: Store, tmp_path: Path):
    for name in ("tiny", "other"):
        record_all(store, tiny(tmp_path, name), (0, 1, 2))
    update_pages(store, ["tiny", "other"])
    lines = shown(store, "overview", "overview")
    assert [run.info.run_name for run in lines] == ["Tiny (other)", "Tiny (tiny)"]
    assert lines[1].data.metrics == {"finished runs": 3 * SETTINGS, "settings": SETTINGS, "seeds": 3}
    assert f"(#/experiments/{store.experiment_ids()['tiny']}/runs?" in lines[1].data.tags["mlflow.note.content"]
    visible = [name for name in lines[0].data.tags if not name.startswith(("mlflow.", "fedbandit."))]
    assert visible == ["Experiment", "Data", "Methods", "Best", "Best result", "Transfers per client", "Seeds"]
    assert [lines[1].data.tags[name] for name in visible[4:]] == ["101 regret", "10", "3"]


def test_the_overview_is_in_the_order_of_the_paper_and_compares_no_different_data(store: Store, tmp_path: Path):
    names = ("own", "study_ties", "fig_b", "user_groups", "fig_a")
    for name in names:
        record_all(store, tiny(tmp_path, name, **(TWO_STREAMS if name == "fig_b" else {})), (0,), regret=100 / 3)
    update_pages(store, names)
    lines = {run.data.tags["Experiment"]: run.data for run in shown(store, "overview", "overview")}
    in_order = sorted(lines, key=lambda name: lines[name].tags["fedbandit.order"])
    assert in_order == ["fig_a", "fig_b", "user_groups", "study_ties", "own"]
    view = json.loads(json.loads(store.find("overview").tags[TAG_PREFIX + VIEW_KEY])["state"])
    assert (view["orderByKey"], view["orderByAsc"], view["searchFilter"]) == ("tags.`fedbandit.order`", True, "")
    assert lines["fig_a"].tags["Best result"] == "33.33 regret"
    assert (lines["fig_b"].tags["Best"], lines["fig_b"].tags["Best result"]) == ("–", "–")
    assert lines["fig_b"].tags["mlflow.note.content"].count("Best setting: ") == 2


def test_generated_data_are_named_first_in_the_overview(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("benchmark.ui.settings.label_of", lambda *_: STAND_IN)
    record_all(store, tiny(tmp_path), (0,))
    update_pages(store, ["tiny"])
    assert [run.info.run_name for run in shown(store, "overview", "overview")] == ["STAND-IN DATA: Tiny (tiny)"]


def test_charts_are_over_the_messages_that_are_needed_and_over_those_that_are_sent(store: Store, tmp_path: Path):
    record_all(store, tiny(tmp_path), (0,), needed=99.0)
    update_pages(store, ["tiny"])
    state = json.loads(json.loads(store.find("tiny").tags[TAG_PREFIX + VIEW_KEY])["state"])
    axes = [chart["xaxis"]["key"] for chart in state["compareRunCharts"]]
    assert axes == ["log10 of messages needed", "log10 of messages sent"]
    assert {run.data.metrics[axes[0]] for run in shown(store)} == {2.0}
    assert {run.data.metrics["needed transfers per client"] for run in shown(store)} == {99 / 20}


@pytest.mark.parametrize("is_used", [False, True])
def test_the_empty_experiment_of_mlflow_is_removed(store: Store, tmp_path: Path, is_used: bool):
    record_all(store, tiny(tmp_path), (0,))
    if is_used:
        store.client.create_run("0")
    update_pages(store, ["tiny"])
    assert ("Default" in store.experiment_ids()) == is_used


def test_a_kill_between_settings_and_overview_is_noticed(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    experiment = tiny(tmp_path)
    record_all(store, experiment, (0, 1, 2))
    update_pages(store, ["tiny"])
    record_all(store, experiment, (3,))
    with monkeypatch.context() as patch:
        patch.setattr("benchmark.ui.pages._publish", lambda *_: None)
        update_pages(store, ["tiny"])
    runs = finished_runs(store, ["tiny"])
    assert not are_current(store, ["tiny"], runs)
    update_pages(store, ["tiny"])
    assert are_current(store, ["tiny"], runs)
    store.client.delete_experiment(store.experiment_ids()[OVERVIEW])
    assert are_current(store, ["tiny"], runs), "the user deleted the overview"


def test_many_seeds_are_shown_by_the_curves_of_some_and_with_progress(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    drawn: list[tuple[int, str]] = []
    monkeypatch.setattr("benchmark.ui.pages.curve_files", lambda runs, title, _: drawn.append((len(runs), title)) or {})
    monkeypatch.setattr("benchmark.ui.pages.MAX_CURVES", 2)
    monkeypatch.setattr("benchmark.ui.pages.SECONDS_BETWEEN_NOTES", 0)
    record_all(store, tiny(tmp_path), (0, 1, 2))
    notes: list[str] = []
    assert update_pages(store, ["tiny"], note=notes.append) == SETTINGS
    assert {count for count, _ in drawn} == {2}
    assert all(title.endswith("3 seeds, curves of the first 2") for _, title in drawn)
    assert notes[-1] == f"MLflow's pages: {SETTINGS} of {SETTINGS} settings of tiny"
    assert {run.data.metrics["seeds"] for run in shown(store)} == {3}


def test_a_server_that_fails_while_curves_are_read_is_one_line_and_not_a_shorter_curve(monkeypatch: pytest.MonkeyPatch):
    from mlflow.exceptions import BAD_REQUEST, MlflowException

    class Failing:
        def list_artifacts(self, run_id: str) -> list[Any]:
            return [SimpleNamespace(path=CURVE)]

        def download_artifacts(self, *_: str) -> str:
            raise MlflowException("the server is gone", error_code=BAD_REQUEST)  # one that is not repeated

    store = Store("http://127.0.0.1:9")
    vars(store)["client"] = Failing()
    with pytest.raises(StoreError, match="the server is gone"):
        read_curves(store, "simulated", "tiny", "1", "mlflow-artifacts:/1/2")
