"""The tables of a report, from a store made by hand: the tests compute each number independently."""

import math
from dataclasses import replace

import pytest

from benchmark.plan.experiment import load_experiment
from benchmark.plan.plan import RunOptions, make_plan
from benchmark.records.sweep_plan import plan_of
from data_pipelines.prepare.prepared import manifest_bytes, read_manifest, sealed
from reports.read.results import Results, read_results
from reports.tables import bounds, missing, settings, user_groups
from reports.write.table import Table
from tests.reports.hand_made import HandMade, write_data, write_fig_a

RECONSTRUCTED = "RECONSTRUCTED DATA (214 of 220 interactions)"


def named(tables: list[Table], name: str) -> Table:
    return next(table for table in tables if table.name == name)


def test_the_bounds_are_those_of_the_paper_with_their_values(results: Results):
    tables = bounds.tables(results)
    assert [table.name for table in tables] == ["bounds", "bounds_fig_a_simulated-uniform"]
    assert tables[0].frame.iloc[4].tolist() == [
        "Sync-LinUCB",
        "D = T / (N^2 d log T)",
        "d √T log T",
        "N^(3/2) d log T",
        "N^2 d log T",
    ]
    N, T, d = 5, 214, 3
    frame = tables[1].frame
    plain, log = d * math.sqrt(T) * math.log(T), math.log(T)
    expected = [plain, plain, N**0.25 * plain, N**0.5 * plain, plain, N**0.25 * plain]
    assert frame["regret bound"].tolist() == pytest.approx(expected)
    spent = [N * T, N**2 * d * log, N**1.5 * d * log, 0, N**1.5 * d * log, N**1.25 * d * log]
    assert frame["C_T bound"].tolist() == pytest.approx(spent)
    assert frame["nearest threshold"].tolist() == [1, 2, 2, math.inf, 0.1, 10]
    assert frame["regret"].tolist() == [105, 205, 205, 1005, 105, 205]
    assert frame["communication"].tolist() == pytest.approx([10_000, 1000, 1000, 0, 1050, 105])
    assert frame["seeds"].tolist() == [2] * 6


def test_users_are_grouped_by_activity(results: Results):
    (table,) = user_groups.tables(results)
    assert table.name == "user_groups_delicious"
    assert table.title.endswith(RECONSTRUCTED)
    frame = table.frame
    assert frame["threshold"].tolist() == [math.inf] * 5 + [6001] * 5 + [3] * 5
    at_three = frame[frame["threshold"] == 3]
    assert at_three["group"].tolist() == ["[0, 10)", "[10, 20)", "[80, 90)", "[90, 100]", "sum"]
    assert at_three["users"].tolist() == [1, 2, 1, 1, 5]
    assert at_three["data"].tolist() == [4, 30, 85, 95, 214]
    assert at_three["uploads"].tolist() == [2, 4, 2, 2, 10]
    assert at_three["reward"].tolist() == [5.5, 11, 9.5, 9.5, 35.5]
    assert at_three["reward_low"].isna().all()  # two seeds
    assert "means over 2 seeds." in table.caption
    assert at_three["normalised reward"].iloc[-1] == pytest.approx(35.5 / (214 / 25))


def test_without_the_data_groups_are_reported_as_missing(hand_made: HandMade, results: Results, tmp_path):
    results = replace(results, folder=tmp_path)
    assert user_groups.tables(results) == []
    assert any("delicious" in sentence for sentence in results.absent)
    table = named(missing.tables(results), "missing")
    assert any("delicious" in note for note in table.notes)


def test_data_that_differ_from_the_runs_data_are_not_used(hand_made: HandMade, results: Results, tmp_path):
    write_data(tmp_path, published=999)
    manifest = read_manifest(tmp_path / "delicious")
    other = sealed({**manifest, "fingerprint": "0" + manifest["fingerprint"]})
    (tmp_path / "delicious" / "manifest.json").write_bytes(manifest_bytes(other))
    results = replace(results, folder=tmp_path)
    assert results.prepared("delicious") is None
    assert results.absent == ["the prepared data set delicious is not the one used by the runs; it is ignored"]
    assert results.label("delicious", "mirror").startswith("UNVERIFIED COPY")


def test_every_setting_is_listed_and_none_is_called_best(results: Results):
    (table,) = settings.tables(results.only(["fig_a"]))
    assert table.name == "settings_fig_a_simulated-uniform"
    assert "fedbandit board" in table.caption
    frame = table.frame.set_index(["algorithm", "threshold"])
    assert frame.loc[("Async-LinUCB", 1.0), "regret"] == 105
    assert frame.loc[("Async-LinUCB", 1.0), "C_T"] == 10_000
    assert frame["seeds"].tolist() == [2] * len(frame)
    assert {"Async-LinUCB", "Sync-LinUCB"} == set(table.frame["algorithm"])


def test_runs_on_choosing_seeds_are_left_out_and_counted(fresh: HandMade):
    write_fig_a(fresh, seeds=1)
    before = read_results(fresh.uri)
    fresh.run("fig_a", "async-linucb", 1, 10_003, regret=1.0, communication=1)
    after = read_results(fresh.uri)
    assert len(after.runs) == len(before.runs)
    assert after.choosing == 1
    assert after.left_out_sentences() == ["1 runs only served to choose settings; no result includes them."]
    assert before.left_out_sentences() == []


def test_missing_runs_are_listed(fresh: HandMade):
    plan = make_plan([load_experiment("fig_c")], RunOptions(seeds=(0, 1)))
    fresh.sweep("fig_c", "quick", plan_of(plan, "fig_c"))
    for planned in plan.runs:
        name = planned.stream.name
        is_done = planned.seed == 0 or name == "simulated-heterogeneous-4"
        if planned.setting == "async-linucb γ=5" and is_done:
            fresh.run("fig_c", "async-linucb", 5, planned.seed, dataset=name, key=planned.key, regret=1.0)
    fresh.run("mine", "async-linucb", 5, 0, regret=1.0)
    fresh.run("mine", "async-linucb", 6, 0, status="FAILED")
    results = read_results(fresh.uri)
    tables = missing.tables(replace(results, folder=fresh.folder))
    frame = named(tables, "missing").frame.set_index("experiment")
    assert frame.loc["fig_c", ["profile", "planned", "finished"]].tolist() == ["quick", 84, 7]
    assert (
        "Async-LinUCB on Simulation, heterogeneous clients, d_g=8: 1 run (at 5 seed 1)" in frame.loc["fig_c", "missing"]
    )
    assert "Async-LinUCB on Simulation, heterogeneous clients, d_g=4:" not in frame.loc["fig_c", "missing"]
    assert frame.loc["fig_a", "missing"] == "experiment not run"
    assert frame.loc["mine", "missing"].startswith("unknown")
    assert named(tables, "missing").has_gaps
    assert not missing.tables(replace(results, folder=fresh.folder, selected=["fig_a", "mine"]))[0].has_gaps
    assert named(tables, "failed").frame["error"].tolist() == ["RuntimeError: made by hand"]


def test_nothing_is_missing_in_a_complete_profile(fresh: HandMade):
    plan = make_plan([load_experiment("fig_a")])
    fresh.sweep("fig_a", "quick", plan_of(plan, "fig_a"))
    for planned in plan.runs:
        front = float(planned.threshold) if planned.threshold else None
        fresh.run("fig_a", planned.info.name, front, planned.seed, key=planned.key, regret=1.0)
    results = read_results(fresh.uri)
    results = replace(results, folder=fresh.folder, selected=["fig_a"])
    (table,) = missing.tables(results)
    count = len(plan.runs)
    assert not table.has_gaps
    assert table.frame[["planned", "finished", "missing"]].to_numpy().tolist() == [[count, count, "nothing"]]
