"""Figure c, runs over time, and reward by activity group."""

import numpy as np
import plotly.graph_objects
import pytest

from benchmark.charts.chart import Series
from benchmark.records.record import RunRecord
from reports.figures import by_parameter, over_time, users
from reports.read.context import Context, make_context
from reports.read.results import Results, read_results
from reports.tables import user_groups as user_groups_table
from reports.write.figure import Figure
from tests.reports.hand_made import HandMade
from tests.reports.made_up import made_up, run


def of_fig_c() -> list[RunRecord]:
    return [
        run(
            "async-linucb-am",
            5.0,
            seed,
            experiment="fig_c",
            source="simulated",
            dataset=f"simulated-heterogeneous-{dim}",
            settings={"global_dim": dim},
            regret=1000.0 - 10 * dim + seed,
            communication=100.0 * dim,
        )
        for dim in (4, 8, 12)
        for seed in (0, 1)
    ]


def assert_is_drawn(figure: Figure) -> None:
    """Check that both libraries accept a figure."""
    plotly.graph_objects.Figure({name: figure.interactive[name] for name in ("data", "layout")})
    assert figure.svg.startswith(b"<?xml")


def test_figure_c_shows_regret_and_communication_against_the_number_of_global_features():
    figure, front = by_parameter.figures(*made_up(of_fig_c()))
    assert (figure.name, front.name) == ("fig_c", "fig_c_front")
    regret, communication = (panel.series[0] for panel in figure.plain_panels)
    assert regret.x == communication.x == (4.0, 8.0, 12.0)
    assert regret.y == (960.5, 920.5, 880.5)
    assert communication.y == (400.0, 800.0, 1200.0)
    assert regret.hover[0][:2] == ("Async-LinUCB-AM, γ=5", "d_g = 4")
    assert regret.hover[0][3] == "2 seeds (0, 1): no interval"
    dots = figure.plain_panels[0].series[1]
    assert (dots.x, dots.y) == ((4, 4, 8, 8, 12, 12), (960, 961, 920, 921, 880, 881))
    assert_is_drawn(figure)


def test_figure_c_against_communication_is_labelled_by_the_number_of_global_features():
    _, front = by_parameter.figures(*made_up(of_fig_c()))
    (panel,) = front.plain_panels
    assert [label.text for label in panel.labels] == ["4", "8", "12"]
    assert panel.series[0].hover[0][1] == "d_g = 4"


def of_low_communication() -> list[RunRecord]:
    return [
        run(
            "async-linucb",
            gamma,
            seed,
            experiment="low_communication",
            dataset=dataset,
            normalised_reward=reward + (2 if np.isinf(gamma) else 0) + seed / 10,
            communication=0.0 if np.isinf(gamma) else 1e21 / gamma,
        )
        for dataset, reward in (("delicious-tagged", 1.7), ("delicious", 5.0))
        for gamma in (1e4, 1e20, np.inf)
        for seed in range(3)
    ]


def test_the_study_of_low_communication_names_its_method_and_explains_its_marks():
    (figure,) = by_parameter.figures(*made_up(of_low_communication()))
    assert figure.title.partition(" – ")[0].endswith(": Async-LinUCB")
    names = [item.label for item in figure.legend()]
    alone, stated = names[-2:]
    assert alone.startswith("γ=∞, no communication")
    assert stated == "stated in the paper"
    assert [trace["name"] for trace in figure.interactive["data"] if trace["showlegend"]] == names
    assert_is_drawn(figure)


def test_a_band_of_no_communication_has_the_colour_of_its_curve():
    (figure,) = by_parameter.figures(*made_up(of_low_communication()))
    panel, _ = figure.plain_panels
    for label, mean in (("Delicious, tagging events (as in the paper)", 3.8), ("Delicious", 7.1)):
        (colour,) = [series.colour for series in panel.series if series.label == label]
        (level,) = [level for level in panel.levels if np.isclose(level.value, mean)]
        assert level.colour == colour
        np.testing.assert_allclose(np.mean(level.band), mean)
        traces = figure.interactive["data"]
        (curve,) = [trace for trace in traces if (trace["name"], trace.get("xaxis")) == (label, "x")]
        (line,) = [trace for trace in traces if np.allclose(trace["y"], mean)]
        (band,) = [trace for trace in traces if "fill" in trace and np.isclose(np.mean(trace["y"]), mean)]
        assert curve["marker"]["color"] == line["line"]["color"] == band["fillcolor"] == colour


def test_runs_over_time_are_the_smallest_the_largest_and_the_best_threshold(results: Results, context: Context):
    (figure,) = over_time.figures(results, context)
    assert figure.name == "fig_a_over_time"
    assert {series.label: series.line for series in figure.plain_panels[0].series} == {
        "Async-LinUCB γ=1": "-",  # the least, and the best
        "Async-LinUCB γ=∞ (no communication)": ":",
        "Sync-LinUCB D=0.1": "-",
        "Sync-LinUCB D=10": ":",
    }


def test_curves_are_means_over_seeds(results: Results, context: Context):
    (figure,) = over_time.figures(results, context)
    spent = of_panel(figure, 1)["Sync-LinUCB D=0.1"]
    assert spent.x == (1.0, 50.0, 100.0)
    np.testing.assert_allclose(spent.y, [10.5, 525.0, 1050.0])
    assert [lines[2].rpartition(" ")[2] for lines in spent.hover] == ["10.5", "525", "1,050"]
    assert "Means over 2 seeds; with fewer than 3 there are no intervals." in figure.caption
    assert_is_drawn(figure)


def of_panel(figure: Figure, number: int = 0) -> dict[str, Series]:
    return {series.label: series for series in figure.plain_panels[number].series}


def test_simulations_show_regret_over_time(results: Results, context: Context):
    (figure,) = over_time.figures(results, context)
    assert figure.plain_panels[0].y.label == "cumulative regret"
    np.testing.assert_allclose(of_panel(figure)["Sync-LinUCB D=0.1"].y, [1.05, 52.5, 105.0])
    assert figure.caption.startswith("Cumulative regret and communication up to each step")
    assert "no recorded" not in figure.caption


def test_runs_of_earlier_versions_show_reward_over_time_and_say_why(fresh: HandMade):
    fresh.has_regret_curves = False
    fresh.run("fig_a", "async-linucb", 1, 0, regret=100, reward=40, communication=10)
    (figure,) = over_time.figures(*read(fresh))
    assert {name: series.y for name, series in of_panel(figure).items()} == {"Async-LinUCB γ=1": (0.4, 20.0, 40.0)}
    assert figure.caption.startswith("Cumulative reward and communication")
    for caption in (figure.caption, figure.short_caption):
        assert "These runs have no recorded regret over time, so that reward is shown." in caption


def test_runs_with_and_without_regret_over_time_are_not_mixed(fresh: HandMade):
    for seed, fresh.has_regret_curves in enumerate((True, False, True)):
        fresh.run("fig_a", "async-linucb", 1, seed, regret=100, reward=10 * (seed + 1), communication=10)
    (figure,) = over_time.figures(*read(fresh))
    np.testing.assert_allclose(of_panel(figure)["Async-LinUCB γ=1"].y, [0.2, 10.0, 20.0])
    assert "1 of these 3 runs have no recorded regret over time, so that reward is shown." in figure.caption


def test_the_noisy_start_of_a_ratio_is_not_drawn_and_the_caption_says_so(fresh: HandMade):
    numbers = {"reward": 200.0, "normalised_reward": 2.0, "regret": 50.0, "communication": 10.0}
    fresh.run("fig_e", "async-linucb", 1, 0, dataset="delicious", source="official", **numbers)
    (figure,) = over_time.figures(*read(fresh))
    assert [series.x for series in figure.plain_panels[0].series] == [(50.0, 100.0)]
    assert "The first 5 % of the steps are not drawn" in figure.caption


def read(store: HandMade) -> tuple[Results, Context]:
    results = read_results(store.uri, store.folder / "data")
    return results, make_context(results, store.folder / "data")


def test_missing_curves_are_reported_and_do_not_stop_the_report(
    context: Context, monkeypatch: pytest.MonkeyPatch, results: Results
):
    empty = results.curves([])
    monkeypatch.setattr(Results, "curves", lambda self, run_ids: empty)
    assert over_time.figures(results, context) == []
    assert "fig_a: no figure over time because the runs have no curves" in context.absent


def test_reward_by_group_is_per_user_and_per_interaction(results: Results, context: Context):
    figure, _ = users.figures(results, context)
    assert figure.name == "user_groups_delicious"
    assert "RECONSTRUCTED DATA" in figure.title
    panel = figure.plain_panels[0]
    often = of_panel(figure)["Async-LinUCB γ=3"]
    assert [text for _, text in panel.x.ticks] == ["[0, 10)", "[10, 20)", "[80, 90)", "[90, 100]"]
    assert [round(x) for x in often.x] == [0, 1, 2, 3]
    np.testing.assert_allclose(often.y, [5.5, 5.5, 9.5, 9.5])
    per_interaction = of_panel(figure, 1)["Async-LinUCB γ=3"].y
    np.testing.assert_allclose(per_interaction, [5.5 / 4, 5.5 / 15, 9.5 / 85, 9.5 / 95])
    assert often.hover[1][1] == "group [10, 20): 2 users, 30 interactions"
    assert [*of_panel(figure)] == ["Async-LinUCB γ=∞", "Async-LinUCB γ=6,001", "Async-LinUCB γ=3"]
    assert "RECONSTRUCTED DATA (214 of 220 interactions)" in figure.svg.decode()
    assert_is_drawn(figure)


def test_without_the_data_reward_by_group_is_reported_as_missing():
    results, context = made_up([run("async-linucb", 3.0, experiment="user_groups")])
    assert users.figures(results, context) == []
    assert any("delicious" in sentence for sentence in context.absent)


def test_groups_and_embedding_of_few_users_are_omitted_and_listed_as_missing(
    results: Results, context: Context, monkeypatch: pytest.MonkeyPatch
):
    assert len(users.figures(results, context)) == 2
    monkeypatch.setattr("reports.analysis.users.MIN_USERS", 6)
    assert users.figures(results, context) == []
    assert user_groups_table.tables(results, context) == []
    assert [sentence for sentence in context.absent if "users" in sentence] == [
        "delicious: no activity groups and no figure of its users because it has only 5 users (at least 6 are needed)"
    ]
