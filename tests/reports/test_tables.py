"""The tables of a report, from a store made by hand: the tests compute each number independently."""

import math
import re

import numpy as np
import pytest

from data_pipelines.prepare.prepared import manifest_bytes, read_manifest, sealed
from reports.analysis.verdicts import OUR_PREPARATION
from reports.read.context import Context, make_context
from reports.read.results import Results, read_results
from reports.tables import bounds, missing, paper_against_ours, settings, user_groups
from reports.write.table import Table
from tests.reports.hand_made import HandMade, write_data, write_fig_a, write_user_groups
from tests.reports.made_up import made_up, run

RECONSTRUCTED = "RECONSTRUCTED DATA (214 of 220 interactions)"


def named(tables: list[Table], name: str) -> Table:
    return next(table for table in tables if table.name == name)


def test_the_bounds_are_those_of_the_paper_with_their_values(results: Results, context: Context):
    tables = bounds.tables(results, context)
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


def test_users_are_grouped_and_the_papers_numbers_are_next_to_ours(results: Results, context: Context):
    (table,) = user_groups.tables(results, context)
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
    half = 12.706204736 * np.std([33, 38], ddof=1) / math.sqrt(2)
    assert at_three["reward_low"].iloc[-1] == pytest.approx(35.5 - half)
    assert at_three["normalised reward"].iloc[-1] == pytest.approx(35.5 / (214 / 25))
    assert at_three["paper: users"].tolist() == [161, 102, 213, 38, 1847]
    assert at_three["paper: uploads"].tolist() == [118, 75, 167, 31, 1423]
    assert at_three["paper: reward"].tolist() == [22, 61, 1341, 389, 5091]
    sums = frame[frame["group"] == "sum"]
    assert sums["paper: uploads"].tolist() == [0, 11, 1423]
    assert sums["paper: reward"].tolist() == [6678, 7251, 5091]
    assert any("rewards at γ=6001 add up to 7,260, not to the 7,251" in note for note in table.notes)


def test_without_the_data_groups_are_reported_as_missing(hand_made: HandMade, results: Results, tmp_path):
    context = make_context(results, tmp_path)
    assert user_groups.tables(results, context) == []
    assert any("delicious" in sentence for sentence in context.absent)
    table = named(missing.tables(results, context), "missing")
    assert any("delicious" in note for note in table.notes)
    assert "cannot be checked (data missing)" in paper_against_ours.tables(results, context)[0].markdown()


def test_data_that_differ_from_the_runs_data_are_not_used(hand_made: HandMade, results: Results, tmp_path):
    write_data(tmp_path, published=999)
    manifest = read_manifest(tmp_path / "delicious")
    other = sealed({**manifest, "fingerprint": "0" + manifest["fingerprint"]})
    (tmp_path / "delicious" / "manifest.json").write_bytes(manifest_bytes(other))
    context = make_context(results, tmp_path)
    assert context.prepared("delicious") is None
    assert context.absent == ["the prepared data set delicious is not the one used by the runs; it is ignored"]
    assert context.label("delicious", "mirror").startswith("UNVERIFIED COPY")


def test_every_setting_is_listed_and_none_is_called_best(results: Results, context: Context):
    (table,) = settings.tables(results.only(["fig_a"]), context)
    assert table.name == "settings_fig_a_simulated-uniform"
    assert "fedbandit board" in table.caption
    frame = table.frame.set_index(["algorithm", "threshold"])
    assert frame.loc[("Async-LinUCB", 1.0), "regret"] == 105
    assert frame.loc[("Async-LinUCB", 1.0), "C_T"] == 10_000
    assert frame["seeds"].tolist() == [2] * len(frame)
    assert {"Async-LinUCB", "Sync-LinUCB"} == set(table.frame["algorithm"])


def test_the_settings_of_a_users_algorithm_are_listed(fresh: HandMade):
    write_fig_a(fresh, seeds=1)
    fresh.run("fig_a", "mine:Own", 1, 0, regret=50, communication=300)
    results = read_results(fresh.uri)
    (table,) = settings.tables(results, make_context(results, fresh.folder))
    assert "Own (mine)" in table.frame["algorithm"].tolist()
    assert "(one seed)" in table.markdown()


def test_runs_on_choosing_seeds_are_left_out_and_counted(fresh: HandMade):
    write_fig_a(fresh, seeds=1)
    before = read_results(fresh.uri)
    fresh.run("fig_a", "async-linucb", 1, 10_003, regret=1.0, communication=1)
    after = read_results(fresh.uri)
    assert len(after.runs) == len(before.runs)
    assert after.choosing == 1
    assert after.left_out_sentences() == [
        "1 runs on seeds for choosing settings are left out of everything but the boards."
    ]
    assert before.left_out_sentences() == []


def row(table: Table, states: str) -> "dict[str, object]":
    rows = table.frame[table.frame["claim"] == states]
    assert len(rows) == 1, states
    return dict(rows.iloc[0])


def test_directions_are_tested_at_equal_regret(results: Results, context: Context):
    (table,) = paper_against_ours.tables(results, context)
    stated = row(table, "uniform clients: Sync-LinUCB needs less C_T than Async-LinUCB at equal regret")
    assert stated["ours"].startswith(f"ratio {math.sqrt(0.1 * 0.11):.3f} [")
    assert stated["verdict"] == "reproduced"
    assert "less on 100% of it" in stated["remark"]
    figure_a = table.frame[table.frame["place"] == "section 4.1, figure a"].set_index("claim")
    few = figure_a.loc["Sync-LinUCB: C_T falls as the threshold rises", "verdict"]
    assert few == "cannot be checked (fewer than three settings were run)"
    assert figure_a.loc["Async-LinUCB: regret rises with the threshold", "ours"] == "τ = 1 [1; 1]"
    assert figure_a.loc["Async-LinUCB: regret rises with the threshold", "verdict"] == "reproduced"


def test_the_loss_of_reward_is_tested_and_the_data_are_named(results: Results, context: Context):
    (table,) = paper_against_ours.tables(results, context)
    states = table.frame["claim"]
    stated = row(table, next(each for each in states if each.startswith("from γ=6001 to γ=3")))
    # Less active, 10 to 80: 10 → 5 and 11 → 6; most active: 10 → 9 and 11 → 10, for two users each.
    shares = [0.5 - 0.1, (1 - 6 / 11) - (1 - 10 / 11)]
    assert stated["ours"].startswith("lost 47.7% and 9.5%: difference ")
    assert f"{np.mean(shares):.2f} [" in stated["ours"]
    assert stated["verdict"] == "reproduced (reconstructed data, our preparation)"


def test_a_verdict_mentions_that_the_paper_prepared_its_data_differently():
    about = {"experiment": "fig_d", "dataset": "lastfm"}
    runs = [
        run("async-linucb", gamma, seed, normalised_reward=reward + seed / 100, **about)
        for gamma, reward in ((1.01, 7.0), (np.inf, 4.0))
        for seed in range(2)
    ]
    results, _ = made_up(runs)
    (table,) = paper_against_ours.tables(results, make_context(results, experiments=["fig_d"]))
    stated = table.frame[table.frame["place"] == "section 4.2, figure d"].iloc[0]
    assert stated["claim"] == "Async-LinUCB earns more without communication (γ=∞) than with frequent communication"
    assert stated["verdict"] == "differs (our preparation)"
    assert "Our preparation: the paper derived its events and features differently." in table.caption


@pytest.mark.parametrize("sync_over_async", [0.1, 10])
def test_a_direction_that_the_paper_leaves_open_gets_no_verdict(sync_over_async: float):
    about = {"experiment": "fig_b", "dataset": "simulated-non-uniform", "source": "simulated"}
    runs = [
        run(algorithm, threshold, seed, regret=100 * threshold + seed, communication=spent / threshold, **about)
        for algorithm, spent in (("async-linucb", 1000), ("sync-linucb", 1000 * sync_over_async))
        for threshold in (1.5, 2.0, 3.0)
        for seed in range(2)
    ]
    results, _ = made_up(runs)
    (table,) = paper_against_ours.tables(results, make_context(results, experiments=["fig_b"]))
    stated = row(table, "non-uniform clients: Async-LinUCB needs less C_T than Sync-LinUCB at equal regret")
    assert stated["ours"].startswith(f"ratio {1 / sync_over_async:g}")
    assert stated["verdict"].startswith(
        "cannot be checked (not determined by the paper: it does not specify how skewed"
    )
    assert OUR_PREPARATION.capitalize() not in table.caption


def test_numbers_of_the_paper_are_next_to_ours(results: Results, context: Context):
    (table,) = paper_against_ours.tables(results, context)
    stated = row(table, "C_T of Async-LinUCB at γ=3")
    assert (stated["paper"], stated["ours"], stated["seeds"]) == (54006, 20, 2)
    assert stated["verdict"] == "differs (reconstructed data, our preparation)"
    assert row(table, "C_T of Async-LinUCB at γ=∞")["verdict"] == "reproduced (reconstructed data, our preparation)"
    stated = row(table, "reward of group 80–90 at γ=6,001")
    assert (stated["paper"], stated["ours"]) == (1369, 10.5)
    for threshold, uploads, reward in (("∞", 0, 6678), ("6,001", 11, 7251), ("3", 1423, 5091)):
        assert row(table, f"uploads of all groups at γ={threshold}")["paper"] == uploads
        assert row(table, f"reward of all groups at γ={threshold}")["paper"] == reward
    assert row(table, "users of group 10–20")["ours"] == "2"
    stated = row(table, "normalised reward of Async-LinUCB at γ=9,001")
    assert (stated["paper"], stated["verdict"]) == (1.8322, "cannot be checked (no run at this threshold)")
    assert f"delicious: {RECONSTRUCTED}" in table.notes


def test_verdicts_are_counted_by_kind_at_the_start(results: Results, context: Context):
    (table,) = paper_against_ours.tables(results, context)
    kinds = r"Directions: (.+?)\. Numbers: (.+?)\. Sizes: (.+?)\. Table 2: (.+?)\. A number is reproduced if"
    counts = re.match(kinds, table.caption)
    assert counts is not None, table.caption
    assert re.fullmatch(r"\d+ reproduced, (\d+ differ|1 differs), \d+ cannot be checked", counts[2])
    assert sum(int(count) for count in re.findall(r"\b\d+(?= (?:reproduced|differ|cannot))", counts[0])) == len(
        table.frame
    )
    assert not any("reproduced" in note for note in table.notes)


def test_sizes_are_those_of_the_data_that_the_experiments_use(results: Results, hand_made: HandMade):
    def sizes_of(*experiments: str) -> set[str]:
        about = make_context(results.only(experiments), hand_made.folder / "data", experiments)
        (table,) = paper_against_ours.tables(results.only(experiments), about)
        return set(table.frame.loc[table.frame["claim"] == "users", "data"])

    assert sizes_of("fig_a") == set()
    assert sizes_of("fig_a", "fig_d") == {"LastFM"}
    assert sizes_of("fig_e") == {"Delicious"}


def test_experiments_that_are_not_in_the_paper_are_not_compared_with_it():
    results, _ = made_up([run("async-linucb", 2.0, experiment="mine", dataset="own")])
    assert paper_against_ours.tables(results, make_context(results, experiments=["mine"])) == []


def test_results_on_stand_in_data_get_no_verdict(fresh: HandMade):
    write_user_groups(fresh, write_data(fresh.folder / "data", source="stand-in"), seeds=1)
    results = read_results(fresh.uri)
    context = make_context(results, fresh.folder / "data")
    (table,) = paper_against_ours.tables(results, context)
    on_delicious = table.frame[table.frame["data"] == "Delicious"]
    assert not on_delicious["verdict"].str.startswith(("reproduced", "differs")).any()
    assert "STAND-IN DATA" in user_groups.tables(results, context)[0].title
    assert "one seed" in user_groups.tables(results, context)[0].caption


def test_missing_runs_are_listed(fresh: HandMade):
    fresh.sweep("fig_c", "quick")
    for seed, global_dim in [(0, 4), (1, 4), *((0, each) for each in (8, 12, 16, 20, 24))]:
        fresh.run("fig_c", "async-linucb-am", 5, seed, dataset=f"simulated-heterogeneous-{global_dim}", regret=1.0)
    fresh.run("mine", "async-linucb", 5, 0, regret=1.0)
    fresh.run("mine", "async-linucb", 6, 0, status="FAILED")
    results = read_results(fresh.uri)
    tables = missing.tables(results, make_context(results, fresh.folder))
    frame = named(tables, "missing").frame.set_index("experiment")
    assert frame.loc["fig_c", ["profile", "planned", "finished"]].tolist() == ["quick", 12, 7]
    assert "Async-LinUCB-AM on simulated-heterogeneous-8: 1 run (at 5 seed 1)" in frame.loc["fig_c", "missing"]
    assert "heterogeneous-4:" not in frame.loc["fig_c", "missing"]
    assert frame.loc["fig_a", "missing"] == "experiment not run"
    assert frame.loc["mine", "missing"].startswith("unknown")
    assert named(tables, "failed").frame["error"].tolist() == ["RuntimeError: made by hand"]


def test_nothing_is_missing_in_a_complete_profile(fresh: HandMade):
    fresh.sweep("low_communication", "quick")
    for threshold in (1e4, 1e8, 1e12, 1e16, 1e20):
        fresh.run("low_communication", "async-linucb", threshold, 0, dataset="delicious", source="stand-in", regret=1.0)
    results = read_results(fresh.uri)
    context = make_context(results, fresh.folder, ["low_communication"])
    frame = missing.tables(results, context)[0].frame
    assert frame[["planned", "finished", "missing"]].to_numpy().tolist() == [[5, 5, "nothing"]]
