"""Communication against regret or reward: every mark, interval and label of the pictures and of the plots."""

import numpy as np
import plotly.graph_objects
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg

from benchmark.charts.chart import Label, Panel, Series
from benchmark.charts.label_placement import overlap
from benchmark.charts.with_matplotlib import to_matplotlib
from benchmark.metrics import metric
from benchmark.records.record import RunRecord
from benchmark.results.frames import over_seeds
from data_pipelines.data_label import STAND_IN
from reports.figures.fronts import curves_of, figures, stated_points
from reports.labels import Methods
from reports.read.context import Context
from reports.read.results import Results
from reports.write.figure import Figure
from tests.reports.made_up import crowded, made_up, many_settings, run

METRICS = ["communication", "regret", "normalised_reward"]


def panel_of(figure: Figure) -> Panel:
    (panel,) = figure.plain_panels
    return panel


def marks_in(figure: Figure) -> set[tuple[float, float]]:
    """Return the positions of all marks of a figure."""
    marked = [series for series in panel_of(figure).series if series.marker]
    return {(round(x, 6), round(y, 6)) for series in marked for x, y in zip(series.x, series.y, strict=True)}


def bars_in(figure: Figure) -> dict[float, tuple[float, float]]:
    """Return the ends of all vertical bars, by their place."""
    return {
        x: (low, high)
        for series in panel_of(figure).series
        if series.y_interval
        for x, low, high in zip(series.x, *series.y_interval, strict=True)
        if np.isfinite(low)
    }


def curves_in(figure: Figure) -> dict[str, Series]:
    """Return the series with an entry in the legend, by its text."""
    return {series.label: series for series in panel_of(figure).series if series.label}


def labels_in(figure: Figure) -> list[Label]:
    return list(panel_of(figure).labels)


def test_marks_are_at_the_means_over_seeds(results: Results, context: Context):
    (figure,) = figures(results, context)
    zero = round(panel_of(figure).x.zero, 6)
    expected = {(10_000, 105), (1_000, 205), (zero, 1_005), (1_050, 105), (105, 205)}
    assert expected <= marks_in(figure)


def test_two_seeds_are_dots_without_an_interval(results: Results, context: Context):
    (figure,) = figures(results, context)
    assert {(10_000, 100), (10_000, 110), (1_000, 200), (1_000, 210)} <= marks_in(figure)
    assert bars_in(figure) == {}
    assert "Means over 2 seeds; with fewer than 3 there are no intervals." in figure.caption
    assert "2 seeds: small dots are single seeds" in figure.svg.decode()


def test_intervals_are_student_t_intervals():
    runs = [
        run("async-linucb", gamma, seed, communication=1000 * gamma, normalised_reward=2 + seed / 10)
        for gamma in (2.0, 3.0)
        for seed in range(3)
    ]
    (figure,) = figures(*made_up(runs))
    half = 4.302652730 * 0.1 / np.sqrt(3)  # three seeds, 0.1 apart: t of two degrees
    np.testing.assert_allclose(bars_in(figure)[2000], [2.1 - half, 2.1 + half], rtol=1e-8)
    assert "Means over 3 seeds with 95 % Student t intervals." in figure.caption
    assert "3 seeds; bars: 95 % intervals" in figure.svg.decode()


def test_the_staircase_is_the_best_value_within_each_budget():
    points = {1.5: (400.0, 1.0), 2.0: (100.0, 3.0), 3.0: (200.0, 2.0), 4.0: (50.0, 0.5)}
    runs = [
        run("async-linucb", gamma, communication=spent, normalised_reward=reward)
        for gamma, (spent, reward) in points.items()
    ]
    results, _ = made_up(runs)
    (curve,) = curves_of(
        over_seeds(results.runs, METRICS), metric("normalised_reward"), "threshold", (), results.methods
    )
    assert curve.staircase(1)[["x", "y"]].to_numpy().tolist() == [[50, 0.5], [100, 3.0]]
    assert curve.staircase(-1)["x"].tolist() == [50]


def test_numbers_of_the_paper_are_hollow_marks_on_its_own_data():
    points = stated_points("fig_e", "delicious-tagged", "normalised_reward", Methods())
    assert [(point.x, point.y, point.text) for point in points] == [
        (14_599, 1.8322, "paper, γ=9,001"),
        (12_901_135, 1.2887, "paper, γ=1.01"),
    ]
    assert stated_points("fig_e", "delicious", "normalised_reward", Methods()) == []


def test_a_baseline_is_a_line_with_its_name():
    runs = [run("async-linucb", gamma, communication=1000 * gamma) for gamma in (2.0, 3.0)]
    (figure,) = figures(*made_up([*runs, run("random", float("nan"), communication=0.0, normalised_reward=1.0)]))
    (level,) = [level for level in panel_of(figure).levels if level.name]
    assert (level.name, level.value) == ("Random choice", 1.0)
    assert "Random choice" in figure.svg.decode()


def test_one_seed_has_no_interval():
    runs = [run("async-linucb", gamma, communication=1000 * gamma) for gamma in (1.0, 2.0)]
    (figure,) = figures(*made_up(runs))
    assert bars_in(figure) == {}
    assert not figure.interactive["data"][0]["error_y"]["visible"]
    assert "A single seed, so no intervals." in figure.caption
    assert "1 seed (0): no interval" in panel_of(figure).series[0].hover[0]
    assert "1 seed (0): no interval" in figure.interactive["data"][0]["hovertemplate"]


def test_at_most_six_thresholds_of_a_curve_are_labelled_and_no_label_overlaps_another_or_a_mark():
    (figure,) = figures(*made_up(crowded()))
    assert "Labels omitted" not in figure.caption
    canvas = to_matplotlib(figure)
    renderer = FigureCanvasAgg(canvas).get_renderer()
    (axes,) = canvas.axes
    labels = [text for text in axes.texts if text.get_gid() == "mark-label"]
    boxes = np.array([text.get_window_extent(renderer).extents for text in labels])
    texts = [part for text in labels for part in text.get_text().split(", ")]  # two marks at one position share a label
    assert len(labels) == len(labels_in(figure))
    assert 3 * 6 <= len(texts) <= 3 * (6 + 2)
    for number, box in enumerate(boxes):
        assert not overlap(box, np.delete(boxes, number, axis=0)).any(), labels[number].get_text()
    radius = 0.7 * 4.2 * canvas.dpi / 72
    for centre in axes.transData.transform(sorted(marks_in(figure))):
        mark = np.concatenate([centre - radius, centre + radius])
        assert not overlap(mark, boxes).any()


def test_labels_are_the_thresholds(results: Results, context: Context):
    (figure,) = figures(results, context)
    texts = [label.text for label in labels_in(figure)]
    assert sorted(texts) == sorted(["γ=1", "γ=2", "γ=∞", "D=0.1", "D=10"])


def test_a_label_that_does_not_fit_is_named_in_the_caption(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(
        "benchmark.charts.label_placement.place_labels", lambda boxes, frame, bars, taken: [None] * len(boxes)
    )
    runs = [run("async-linucb", gamma, communication=1000 * gamma) for gamma in (2.0, 3.0)]
    (figure,) = figures(*made_up(runs))
    assert "Labels omitted for lack of space: Async-LinUCB γ=2, Async-LinUCB γ=3." in figure.caption


def test_marks_at_one_position_share_a_label():
    runs = [run("sync-linucb", 10.0**power, communication=0.0) for power in range(5)]
    runs.append(run("sync-linucb", 0.1, communication=500.0, normalised_reward=3.0))
    (figure,) = figures(*made_up(runs))
    assert [label.text for label in labels_in(figure)] == ["D=0.1", "D=1 … 10,000"]


def test_the_extremes_are_marked_as_in_the_paper(results: Results, context: Context):
    (figure,) = figures(results, context)
    legend = [text.get_text() for text in to_matplotlib(figure).legends[0].get_texts()]
    assert sorted(legend) == sorted(item.label for item in figure.legend())  # it is filled column by column
    assert "Async-LinUCB γ=∞: 1,005, no communication" in legend
    assert "Async-LinUCB γ=1: 105 at $C_T$ = 10,000" in legend
    names = [trace["name"] for trace in figure.interactive["data"] if trace["showlegend"]]
    assert sorted(names) == sorted(name.replace("$C_T$", "C<sub>T</sub>") for name in legend)


def test_hovering_shows_algorithm_threshold_values_and_seeds(results: Results, context: Context):
    (figure,) = figures(results, context)
    first, trace = panel_of(figure).series[0], figure.interactive["data"][0]
    assert first.hover[1] == (
        "Async-LinUCB",
        "γ = 2",
        "regret 205",
        "communication 1,000",
        "2 seeds (0, 1): no interval",
    )
    assert (trace["x"][1], trace["y"][1]) == (first.x[1], first.y[1]) == (1000.0, 205.0)
    assert trace["customdata"][1] == ["γ = 2", "regret 205", "communication 1,000"]
    assert trace["hovertemplate"].startswith("<b>Async-LinUCB</b><br>%{customdata[0]}<br>")
    assert "2 seeds (0, 1): no interval" in trace["hovertemplate"]


def traces_of(figure) -> dict[str, dict]:
    return {trace["name"]: trace for trace in figure.interactive["data"]}


def test_the_plot_has_all_that_the_picture_has():
    (figure,) = figures(*made_up(crowded(dataset="delicious-tagged", source="mirror")))
    traces = traces_of(figure)
    plotly.graph_objects.Figure(figure.interactive)
    stairs, *_ = [trace for trace in figure.interactive["data"] if trace.get("line", {}).get("shape") == "hv"]
    assert stairs["legendgroup"] == "Async-LinUCB  (γ)"
    assert stairs["x"] == sorted(stairs["x"])
    assert stairs["y"] == sorted(stairs["y"])
    stated = traces["stated in the paper"]
    assert stated["marker"]["symbol"] == "diamond-open"
    assert stated["x"] == [14_599, 12_901_135]
    assert panel_of(figure).remark == "random choice: 1, below this picture"
    notes = [note["text"] for note in figure.interactive["layout"]["annotations"]]
    assert {"<b>γ=∞</b>", "<b>γ=1</b>", "paper, γ=9,001", "paper, γ=1.01"} <= set(notes)
    assert 3 * 6 <= len([text for text in notes if "paper" not in text]) <= 3 * (6 + 2)
    assert len(figure.interactive["phone"]) > 6
    assert sum(trace.get("showlegend", True) for trace in figure.interactive["data"]) <= 8


def test_the_second_axis_counts_transfers_per_client():
    (figure,) = figures(*made_up(crowded()))
    clients = figure.on_page["budget"]["clients"]
    axis = figure.interactive["layout"]["xaxis2"]
    ticks = dict(zip(axis["ticktext"], axis["tickvals"], strict=True))
    assert axis["title"]["text"] == "transfers per client"
    assert ticks["10,000"] == 10_000 * clients
    (axes,) = to_matplotlib(figure).axes
    (second,) = axes.child_axes
    assert "10,000" in [label.get_text() for label in second.get_xticklabels()]


def test_the_budget_slider_knows_every_setting_with_its_value():
    (figure,) = figures(*made_up([run("async-linucb", gamma, communication=1000 * gamma) for gamma in (2.0, 3.0)]))
    budget = figure.on_page["budget"]
    assert budget["sign"] == 1
    assert [(point["setting"], point["x"], point["value"]) for point in budget["points"]] == [
        ("γ = 2", 2000.0, "2"),
        ("γ = 3", 3000.0, "2"),
    ]


def test_plotly_accepts_the_plots(results: Results, context: Context):
    (figure,) = figures(results, context)
    plotly.graph_objects.Figure(figure.interactive)  # refuses unknown names and values


def test_a_users_algorithm_without_a_threshold_is_shown_too():
    runs = [run("my_module:Mine", np.nan, communication=300.0, normalised_reward=1.5), *crowded()]
    (figure,) = figures(*made_up(runs))
    assert curves_in(figure)["Mine (my_module)"].hover[0][:2] == ("Mine (my_module)", "no threshold")


def with_periods(*periods: int) -> list[RunRecord]:
    """Runs of an algorithm without a threshold: the longer its period, the less it communicates."""
    return [
        run("gossip:Gossip", np.nan, settings={"period": period}, communication=5000.0 / period) for period in periods
    ]


def test_settings_of_an_algorithm_without_a_threshold_are_one_curve_by_communication():
    (figure,) = figures(*made_up([*with_periods(5, 50, 10), *crowded()]))
    curve = curves_in(figure)["Gossip (gossip)"]
    assert curve.x == (100.0, 500.0, 1000.0)
    assert [hover[1] for hover in curve.hover] == ["period=50", "period=10", "period=5"]
    texts = [label.text for label in labels_in(figure)]
    assert {"period=5", "period=10", "period=50"} <= set(texts)
    assert (
        "Labels are the threshold (see the legend) or, without a threshold, the values of the parameters,"
        in figure.caption
    )


def test_variants_of_the_stream_are_not_joined():
    runs = [run("random", np.nan, settings={"stream_arms": arms}, fingerprint=str(arms)) for arms in (10, 25)]
    (figure,) = figures(*made_up(runs))
    assert [*curves_in(figure)] == ["Random choice (arms=10)", "Random choice (arms=25)"]


def test_variants_of_an_algorithm_have_different_colours():
    runs = [
        run(algorithm, gamma, settings={"ridge": ridge}, communication=100 * gamma)
        for algorithm in ("async-linucb", "sync-linucb")
        for ridge in (0.1, 1, 10)
        for gamma in (2.0, 3.0)
    ]
    (figure,) = figures(*made_up(runs))
    curves = [*curves_in(figure).values()]
    assert len({curve.colour for curve in curves}) == 6
    assert curves[0].colour == Methods().styles_of(["async-linucb"])["async-linucb"].colour
    traces = [trace for trace in figure.interactive["data"] if trace["showlegend"]]
    assert [trace["marker"]["color"] for trace in traces] == [curve.colour for curve in curves]
    legend = to_matplotlib(figure).legends[0]
    assert {line.get_color() for line in legend.get_lines()} == {curve.colour for curve in curves}


@pytest.mark.parametrize(("covered", "insets"), [(False, 1), (True, 0)])
def test_the_lowest_part_is_enlarged_where_the_inset_hides_no_mark(covered: bool, insets: int):
    points = {1.5: (20_000, 100), 10.0: (10, 5_000), **({3.0: (3_000, 1_500)} if covered else {})}
    runs = [
        run("async-linucb", gamma, dataset="simulated-uniform", source="simulated", communication=x, regret=y)
        for gamma, (x, y) in points.items()
    ]
    (figure,) = figures(*made_up(runs))
    assert (panel_of(figure).inset is not None) == bool(insets)
    axes, *_ = to_matplotlib(figure).axes
    assert sum(isinstance(child, Axes) for child in axes.child_axes) == insets


def test_two_algorithms_never_look_the_same():
    names = [f"own{number}:Own" for number in range(30)]
    alone = {name: Methods().styles_of([name])[name] for name in names}
    assert len({*alone.values()}) < len(names), "some of them must look the same for this test to mean anything"
    styles = Methods().curve_styles(["async-linucb", *names])
    assert len({*styles}) == len(styles)
    assert styles[0] == Methods().styles_of(["async-linucb"])["async-linucb"]


@pytest.mark.parametrize("variants", [1, 3, 8])
def test_the_legend_fits_the_picture(variants: int):
    runs = [
        run("async-linucb", gamma, settings=settings, communication=spent)
        for settings in many_settings(variants)
        for gamma, spent in ((1.0, 9000.0), (3.0, 70.0))
    ]
    (figure,) = figures(*made_up(runs))
    canvas = to_matplotlib(figure)
    renderer = FigureCanvasAgg(canvas).get_renderer()
    canvas.draw_without_rendering()
    legend = canvas.legends[0].get_window_extent(renderer)
    (axes,) = canvas.axes
    assert legend.x0 >= 0
    assert legend.x1 <= canvas.bbox.x1
    assert legend.y0 >= 0
    assert legend.y1 <= axes.xaxis.label.get_window_extent(renderer).y0
    assert len(canvas.legends[0].get_texts()) == min(2 * variants, 8)


def test_stand_in_data_are_labelled_in_title_caption_picture_and_plot():
    (figure,) = figures(*made_up(crowded(source="stand-in", dataset="movielens", experiment="fig_f")))
    assert "STAND-IN DATA" in figure.title
    assert STAND_IN in figure.caption
    assert STAND_IN in figure.svg.decode()
    assert "STAND-IN DATA" in figure.interactive["layout"]["title"]["text"]


def test_an_experiment_on_two_data_sets_has_two_figures():
    runs = [run("async-linucb", 2.0, dataset=name, experiment="mine") for name in ("lastfm", "delicious")]
    assert [figure.name for figure in figures(*made_up(runs))] == ["mine_delicious", "mine_lastfm"]
