"""Figure c, runs over time, and reward by activity group."""

import numpy as np
import plotly.graph_objects
import pytest

from benchmark.charts.chart import Series
from benchmark.records.record import RunRecord
from reports.figures import by_parameter, over_time, users
from reports.read.results import Results
from reports.tables import user_groups as user_groups_table
from reports.write.figure import Figure
from tests.reports.made_up import made_up, run


def of_fig_c() -> list[RunRecord]:
    about = {"experiment": "fig_c", "source": "simulated"}
    return [
        run("async-linucb-am", 5.0, seed, dataset=f"simulated-heterogeneous-{dim}", **about, **numbers)
        for dim in (4, 8, 12)
        for seed in (0, 1)
        for numbers in [
            {"settings": {"global_dim": dim}, "regret": 1000.0 - 10 * dim + seed, "communication": 100.0 * dim}
        ]
    ]


def assert_is_drawn(figure: Figure) -> None:
    """Check that both libraries accept a figure."""
    plotly.graph_objects.Figure({name: figure.interactive[name] for name in ("data", "layout")})
    assert figure.svg.startswith(b"<?xml")


def test_figure_c_shows_regret_and_communication_against_the_number_of_global_features():
    figure, front = by_parameter.figures(made_up(of_fig_c()))
    assert (figure.name, front.name) == ("fig_c", "fig_c_front")
    regret, communication = (panel.series[0] for panel in figure.plain_panels)
    assert regret.x == communication.x == (4.0, 8.0, 12.0)
    assert regret.y == (960.5, 920.5, 880.5)
    assert communication.y == (400.0, 800.0, 1200.0)
    assert regret.hover[0][:2] == ("Async-LinUCB-AM, γ=5", "d_g = 4")
    assert regret.hover[0][3] == "2 seeds (0, 1): no interval"
    (panel,) = front.plain_panels
    assert [label.text for label in panel.labels] == ["4", "8", "12"]
    assert panel.series[0].hover[0][1] == "d_g = 4"
    dots = figure.plain_panels[0].series[1]
    assert (dots.x, dots.y) == ((4, 4, 8, 8, 12, 12), (960, 961, 920, 921, 880, 881))
    assert_is_drawn(figure)


def of_low_communication() -> list[RunRecord]:
    about = {"experiment": "low_communication"}
    return [
        run("async-linucb", gamma, seed, dataset=dataset, normalised_reward=value, communication=1e21 / gamma, **about)
        for dataset, reward in (("delicious-tagged", 1.7), ("delicious", 5.0))
        for gamma in (1e4, 1e20, np.inf)
        for seed in range(3)
        for value in [reward + (2 if np.isinf(gamma) else 0) + seed / 10]
    ]


def test_low_communication_has_a_band_of_no_communication_in_the_colour_of_its_curve():
    (figure,) = by_parameter.figures(made_up(of_low_communication()))
    assert figure.title.partition(" – ")[0].endswith(": Async-LinUCB")
    names = [item.label for item in figure.legend()]
    assert names[-2].startswith("γ=∞, no communication")
    assert names[-1] == "stated in the paper"
    assert [trace["name"] for trace in figure.interactive["data"] if trace["showlegend"]] == names
    assert_is_drawn(figure)
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


def test_means_over_time_are_those_of_the_smallest_the_largest_and_the_best_threshold(results: Results):
    (figure,) = over_time.figures(results)
    assert figure.name == "fig_a_over_time"
    assert {series.label: series.line for series in figure.plain_panels[0].series} == {
        "Async-LinUCB γ=1": "-",  # the least, and the best
        "Async-LinUCB γ=∞ (no communication)": ":",
        "Sync-LinUCB D=0.1": "-",
        "Sync-LinUCB D=10": ":",
    }
    assert figure.plain_panels[0].y.label == "cumulative regret"
    np.testing.assert_allclose(of_panel(figure)["Sync-LinUCB D=0.1"].y, [1.05, 52.5, 105.0])
    spent = of_panel(figure, 1)["Sync-LinUCB D=0.1"]
    assert spent.x == (1.0, 50.0, 100.0)
    np.testing.assert_allclose(spent.y, [10.5, 525.0, 1050.0])
    assert [lines[2].rpartition(" ")[2] for lines in spent.hover] == ["10.5", "525", "1,050"]
    assert figure.caption.startswith("Cumulative regret and communication up to each step")
    assert_is_drawn(figure)


def of_panel(figure: Figure, number: int = 0) -> dict[str, Series]:
    return {series.label: series for series in figure.plain_panels[number].series if series.label}


def test_missing_curves_are_reported_and_do_not_stop_the_report(monkeypatch: pytest.MonkeyPatch, results: Results):
    empty = results.curves([])
    monkeypatch.setattr(Results, "curves", lambda self, run_ids: empty)
    assert over_time.figures(results) == []
    assert "fig_a: no figure over time because the runs have no curves" in results.absent


def test_reward_by_group_is_per_user_and_per_interaction(results: Results):
    figure, _ = users.figures(results)
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


def test_groups_and_embedding_of_few_users_are_omitted_and_listed_as_missing(
    results: Results, monkeypatch: pytest.MonkeyPatch
):
    assert len(users.figures(results)) == 2
    monkeypatch.setattr("reports.analysis.users.MIN_USERS", 6)
    assert users.figures(results) == []
    assert user_groups_table.tables(results) == []
    assert [sentence for sentence in results.absent if "users" in sentence] == [
        "delicious: no activity groups and no figure of its users because it has only 5 users (at least 6 are needed)"
    ]
