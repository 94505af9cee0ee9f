"""If data are replaced or imported again under their name, results on both versions are never shown together."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from benchmark.__main__ import main
from benchmark.execution.run_result import RunResult
from benchmark.plan.experiment import load_experiment
from benchmark.plan.plan import Plan, RunOptions, make_plan
from benchmark.plan.runs import Run
from benchmark.records.artifacts import FILES
from benchmark.records.sweep_plan import plan_of
from data_pipelines.own_data.options import ImportOptions
from data_pipelines.prepare.imported import import_table
from data_pipelines.prepare.prepared import data_folder
from reports.build import build
from reports.read.results import read_results
from reports.tables import settings
from tests.reports.hand_made import HandMade, write_data
from tests.reports.test_build import as_working_directory
from tests.reports.whole_page import whole_page

pytestmark = pytest.mark.slow

SETTINGS = (
    ("async-linucb", 1.0),
    ("async-linucb", float("inf")),
    ("sync-linucb", 0.01),
    ("sync-linucb", 100.0),
    ("async-linucb-am", 1.0),
)


def run_on(store: HandMade, experiment: str, manifest: Mapping[str, Any], reward: float, **sizes: str) -> None:
    """Record three methods with two seeds; `reward` shows which data a result is on."""
    for seed in (0, 1):
        for number, (algorithm, threshold) in enumerate(SETTINGS):
            store.run(
                experiment,
                algorithm,
                threshold,
                seed,
                dataset=str(manifest["name"]),
                source=str(manifest["source"]),
                manifest=manifest,
                parameters=sizes,
                normalised_reward=reward + 0.1 * number + 0.01 * seed * number,
                reward=10 * reward,
                regret=1.0,
                communication=100.0 * (number + 1),
            )


def record(store: HandMade, runs: Sequence[Run], ended: float = 1.0, plan: Plan | None = None, file: str = "") -> None:
    """Record planned runs as a sweep does, with arbitrary numbers; `file` is that of their experiment."""
    experiment = load_experiment(file or runs[0].experiment)
    planned = plan_of(plan, experiment.name) if plan else None
    parent = store.store.begin_sweep(experiment.info, "quick", len(runs), planned)
    sizes = {"steps": "214", "clients": "5", "arms": "25", "dimension": "3"}
    files = dict.fromkeys(FILES, b"x")
    outcome = RunResult(0, ended, "host", {"normalised_reward": 1.0, "communication": 1.0}, {}, files, sizes)
    for run in runs:
        store.store.record(parent, experiment.info, run, outcome)
    store.store.end_sweep(parent, "FINISHED", {})


def write_shop(folder: Path, rows: int) -> dict[str, Any]:
    """Import data with a number of rows and two columns of words."""
    clicks = pd.DataFrame({"user": [row % 5 for row in range(rows)], "item": [row // 5 for row in range(rows)]})
    items = pd.DataFrame({"item": range(8), "words": [f"red w{n}" for n in range(8)], "kind": list("abcdefgh")})
    clicks.to_csv(folder / "clicks.csv", index=False)
    items.to_csv(folder / "items.csv", index=False)
    return shop(folder, "words")


def shop(folder: Path, words: str) -> dict[str, Any]:
    options = ImportOptions(items=folder / "items.csv", words_column=[words], dimension=2)
    return import_table(folder / "clicks.csv", options, name="shop").manifest


def test_stand_ins_first_and_real_data_later_make_a_report_on_the_real_data(
    fresh: HandMade, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    as_working_directory(fresh, monkeypatch)
    fresh.sweep("fig_d", "quick")
    run_on(fresh, "fig_d", write_data(data_folder(), "lastfm", source="stand-in", published=214), reward=5.0)
    run_on(fresh, "fig_d", write_data(data_folder(), "lastfm", published=214, content="1"), reward=2.0)
    assert main(["report", "fig_d"]) == 0
    sentence = "lastfm: 10 runs on other data (stand-in, 5 clients, 214 steps) left out"
    assert f"note {sentence}" in " ".join(capsys.readouterr().out.split())
    out = fresh.folder / "reports/output/fig_d"
    page = whole_page((out / "report.html").read_text(encoding="utf-8"))
    assert sentence in page
    assert sentence in (out / "tables/missing.md").read_text(encoding="utf-8")
    assert "STAND-IN" not in page
    assert '<p class="headline">10 finished runs, ' in page
    titles = re.findall(r"<h3>(.*?)</h3>", page)
    assert len(titles) == len(set(titles))
    drawn = pd.read_csv(out / "figures/fig_d.csv")
    assert set(drawn["source"]) == {"mirror"}
    assert len(drawn) == len(SETTINGS)
    listed = pd.read_csv(out / "tables/settings_fig_d_lastfm.csv")
    assert listed["algorithm"].nunique() == 3
    assert len(listed) == len(SETTINGS)
    assert listed["normalised reward"].between(2, 3).all()


@pytest.mark.parametrize("kind", ["fewer rows", "other words"])
def test_runs_on_reimported_data_are_not_listed_with_older_runs(fresh: HandMade, kind: str):
    first = write_shop(fresh.folder, 40)
    run_on(fresh, "shop", first, reward=5.0)
    before = read_results(fresh.uri)
    assert len(before.runs) == 10
    assert before.left_out_sentences() == []
    second = write_shop(fresh.folder, 20) if kind == "fewer rows" else shop(fresh.folder, "kind")
    run_on(fresh, "shop", second, 2.0, **({"steps": "20"} if kind == "fewer rows" else {}))
    results = read_results(fresh.uri)
    assert results.runs["variant"].unique().tolist() == [""]
    assert results.superseded == 0
    (listed,) = settings.tables(results)
    assert listed.frame["algorithm"].nunique() == 3
    assert listed.frame["normalised reward"].max() < 3
    (sentence,) = results.left_out_sentences()
    assert sentence.startswith("shop: 10 runs on other data (imported, 5 clients, 214 steps) left out")
    assert results.only(["another"]).left_out_sentences() == []


def test_the_error_explains_that_all_runs_are_on_other_data(fresh: HandMade, monkeypatch: pytest.MonkeyPatch):
    as_working_directory(fresh, monkeypatch)
    run_on(fresh, "shop", write_shop(fresh.folder, 40), reward=5.0)
    shop(fresh.folder, "kind")
    with pytest.raises(
        ValueError, match=r"no finished runs in .* on the currently prepared data.*10 runs on other data"
    ):
        build()


def test_a_run_records_its_data_version_so_reports_do_not_need_the_data(
    fresh: HandMade, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for content, count in (("0", 2), ("1", 1)):
        monkeypatch.setenv("FEDBANDIT_DATA", str(tmp_path / content))
        write_data(data_folder(), content=content)
        planned = make_plan([load_experiment("low_communication")], RunOptions(datasets=("delicious",))).runs
        record(fresh, planned[-count:], ended=1.0 + int(content))
    results = read_results(fresh.uri, tmp_path / "a folder without data")
    assert results.runs["key"].tolist() == [planned[-1].key]
    (sentence,) = results.left_out_sentences()
    assert sentence.startswith("delicious: 2 runs on other data")
    reason = "delicious is not prepared on this machine, so only runs on the data of the newest run are shown"
    assert sentence.endswith(reason)


def test_pandas_reads_every_csv_of_a_report_without_options(fresh: HandMade, monkeypatch: pytest.MonkeyPatch):
    as_working_directory(fresh, monkeypatch)
    fresh.sweep("fig_d", "quick")
    run_on(fresh, "fig_d", write_data(data_folder(), "lastfm", source="stand-in"), reward=5.0)
    build(log=False)
    files = sorted((fresh.folder / "reports/output").rglob("*.csv"))
    assert {path.parent.name for path in files} == {"tables", "figures"}
    for path in files:
        header = path.read_text(encoding="utf-8").partition("\n")[0]
        frame = pd.read_csv(path)
        assert not header.startswith("#")
        assert ",".join(frame.columns) == header.replace('"', "")
        assert len(frame) > 0
        assert all(re.fullmatch(r"\d+( \d+)*", str(seeds)) for seeds in frame.get("seed_list", [])), path
        caption = path.with_suffix(".md").read_text(encoding="utf-8")
        assert caption.startswith("### ")
