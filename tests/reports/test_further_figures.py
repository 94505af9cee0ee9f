"""Figure c, runs over time, and reward by activity group."""

import numpy as np
import plotly.graph_objects
import pytest
from matplotlib.colors import to_hex

from benchmark.records.record import RunRecord
from reports.write.figure import Figure
from reports.drawing.style import house_style
from reports.figures import by_global_dim, by_threshold, embedding, over_time, user_groups
from reports.read.context import Context, make_context
from reports.read.results import Results, read_results
from reports.tables import user_groups as user_groups_table
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


def test_figure_c_shows_regret_and_communication_against_the_number_of_global_features():
    figure, front = by_global_dim.figures(*made_up(of_fig_c()))
    assert (figure.name, front.name) == ("fig_c", "fig_c_front")
    regret, communication = figure.interactive["data"]
    assert regret["x"] == communication["x"] == [4.0, 8.0, 12.0]
    assert regret["y"] == [960.5, 920.5, 880.5]
    assert communication["y"] == [400.0, 800.0, 1200.0]
    assert regret["customdata"][0][:2] == ["Async-LinUCB-AM, γ=5", "d_g = 4"]
    assert regret["customdata"][0][3] == "2 seeds (0, 1): no interval"
    plotly.graph_objects.Figure(figure.interactive)
    assert figure.png.startswith(b"\x89PNG")


def test_figure_c_against_communication_is_labelled_by_the_number_of_global_features():
    _, front = by_global_dim.figures(*made_up(of_fig_c()))
    with house_style():
        canvas = front.draw()
    assert [text.get_text() for text in canvas.texts if text.get_gid() == "threshold-label"] == ["4", "8", "12"]
    assert front.interactive["data"][0]["customdata"][0][1] == "d_g = 4"


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
    (figure,) = by_threshold.figures(*made_up(of_low_communication()))
    assert figure.title.partition(" – ")[0].endswith(": Async-LinUCB")
    with house_style():
        (legend,) = figure.draw().legends
    names = [text.get_text() for text in legend.get_texts()]
    alone, stated = names[-2:]
    assert alone.startswith("γ=∞, no communication")
    assert stated == "stated in the paper"
    assert {trace["name"] for trace in figure.interactive["data"]} == {*names}


def test_a_band_of_no_communication_has_the_colour_of_its_curve():
    (figure,) = by_threshold.figures(*made_up(of_low_communication()))
    with house_style():
        axes = figure.draw().axes[0]
    lines = {line.get_ydata()[0]: to_hex(line.get_color()) for line in axes.lines if line.get_linestyle() == "--"}
    bands = {patch.get_y() + patch.get_height() / 2: to_hex(patch.get_facecolor()) for patch in axes.patches}
    for label, mean in (("Delicious, tagging events (as in the paper)", 3.8), ("Delicious", 7.1)):
        (marks,) = [each for each in axes.collections if each.get_label() == label]
        colour = to_hex(marks.get_facecolor()[0])
        assert [each for level, each in lines.items() if np.isclose(level, mean)] == [colour]
        assert [each for level, each in bands.items() if np.isclose(level, mean)] == [colour]
        traces = figure.interactive["data"]
        (curve,) = [trace for trace in traces if (trace["name"], trace.get("xaxis")) == (label, "x")]
        (line,) = [trace for trace in traces if np.allclose(trace["y"], mean)]
        (band,) = [trace for trace in traces if "fill" in trace and np.isclose(np.mean(trace["y"]), mean)]
        assert curve["marker"]["color"] == line["line"]["color"] == band["fillcolor"] == colour


def test_runs_over_time_are_the_smallest_the_largest_and_the_best_threshold(results: Results, context: Context):
    (figure,) = over_time.figures(results, context)
    assert figure.name == "fig_a_over_time"
    names = {trace["name"]: trace["line"]["dash"] for trace in figure.interactive["data"] if trace["showlegend"]}
    assert names == {
        "Async-LinUCB γ=1": "solid",  # the least, and the best
        "Async-LinUCB γ=∞ (no communication)": "dot",
        "Sync-LinUCB D=0.1": "solid",
        "Sync-LinUCB D=10": "dot",
    }


def test_curves_are_means_over_seeds(results: Results, context: Context):
    (figure,) = over_time.figures(results, context)
    spent = next(
        trace
        for trace in figure.interactive["data"]
        if trace["name"] == "Sync-LinUCB D=0.1" and not trace["showlegend"]
    )
    assert spent["x"] == [1.0, 50.0, 100.0]
    np.testing.assert_allclose(spent["y"], [10.5, 525.0, 1050.0])
    assert spent["text"] == ["10.5", "525", "1,050"]
    assert "Means over 2 seeds; with fewer than 3 there are no intervals." in figure.caption
    plotly.graph_objects.Figure(figure.interactive)
    assert figure.png.startswith(b"\x89PNG")


def of_first_panel(figure: Figure) -> dict[str, list[float]]:
    return {trace["name"]: trace["y"] for trace in figure.interactive["data"] if trace["showlegend"]}


def test_simulations_show_regret_over_time(results: Results, context: Context):
    (figure,) = over_time.figures(results, context)
    assert figure.interactive["layout"]["yaxis"]["title"]["text"] == "cumulative regret"
    np.testing.assert_allclose(of_first_panel(figure)["Sync-LinUCB D=0.1"], [1.05, 52.5, 105.0])
    assert figure.caption.startswith("Cumulative regret and communication up to each step")
    assert "no recorded" not in figure.caption


def test_runs_of_earlier_versions_show_reward_over_time_and_say_why(fresh: HandMade):
    fresh.has_regret_curves = False
    fresh.run("fig_a", "async-linucb", 1, 0, regret=100, reward=40, communication=10)
    (figure,) = over_time.figures(*read(fresh))
    assert of_first_panel(figure) == {"Async-LinUCB γ=1": [0.4, 20.0, 40.0]}
    assert figure.caption.startswith("Cumulative reward and communication")
    for caption in (figure.caption, figure.short_caption):
        assert "These runs have no recorded regret over time, so that reward is shown." in caption


def test_runs_with_and_without_regret_over_time_are_not_mixed(fresh: HandMade):
    for seed, fresh.has_regret_curves in enumerate((True, False, True)):
        fresh.run("fig_a", "async-linucb", 1, seed, regret=100, reward=10 * (seed + 1), communication=10)
    (figure,) = over_time.figures(*read(fresh))
    np.testing.assert_allclose(of_first_panel(figure)["Async-LinUCB γ=1"], [0.2, 10.0, 20.0])
    assert "1 of these 3 runs have no recorded regret over time, so that reward is shown." in figure.caption


def test_the_noisy_start_of_a_ratio_is_not_drawn_and_the_caption_says_so(fresh: HandMade):
    numbers = {"reward": 200.0, "normalised_reward": 2.0, "regret": 50.0, "communication": 10.0}
    fresh.run("fig_e", "async-linucb", 1, 0, dataset="delicious", source="official", **numbers)
    (figure,) = over_time.figures(*read(fresh))
    assert [trace["x"] for trace in figure.interactive["data"] if trace["showlegend"]] == [[50.0, 100.0]]
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
    (figure,) = user_groups.figures(results, context)
    assert figure.name == "user_groups_delicious"
    assert "RECONSTRUCTED DATA" in figure.title
    traces = {(trace["name"], trace.get("xaxis")): trace for trace in figure.interactive["data"]}
    often = traces["Async-LinUCB γ=3", "x"]
    assert often["x"] == ["[0, 10)", "[10, 20)", "[80, 90)", "[90, 100]"]
    np.testing.assert_allclose(often["y"], [5.5, 5.5, 9.5, 9.5])
    per_interaction = traces["Async-LinUCB γ=3", "x2"]["y"]
    np.testing.assert_allclose(per_interaction, [5.5 / 4, 5.5 / 15, 9.5 / 85, 9.5 / 95])
    assert often["customdata"][1][1] == "group [10, 20): 2 users, 30 interactions"
    assert [trace["name"] for trace in figure.interactive["data"][:3]] == [
        "Async-LinUCB γ=∞",
        "Async-LinUCB γ=6,001",
        "Async-LinUCB γ=3",
    ]
    assert "RECONSTRUCTED DATA (214 of 220 interactions)" in figure.svg.decode()
    plotly.graph_objects.Figure(figure.interactive)


def test_without_the_data_reward_by_group_is_reported_as_missing():
    results, context = made_up([run("async-linucb", 3.0, experiment="user_groups")])
    assert user_groups.figures(results, context) == []
    assert any("delicious" in sentence for sentence in context.absent)


def test_groups_and_embedding_of_few_users_are_omitted_and_listed_as_missing(
    results: Results, context: Context, monkeypatch: pytest.MonkeyPatch
):
    assert [len(module.figures(results, context)) for module in (user_groups, embedding)] == [1, 1]
    monkeypatch.setattr("reports.analysis.users.MIN_USERS", 6)
    assert [module.figures(results, context) for module in (user_groups, embedding)] == [[], []]
    assert user_groups_table.tables(results, context) == []
    assert [sentence for sentence in context.absent if "users" in sentence] == [
        "delicious: no activity groups and no figure of its users because it has only 5 users (at least 6 are needed)"
    ]
