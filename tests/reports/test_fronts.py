"""Communication against regret or reward: every mark, interval and label of the pictures and of the plots."""

import numpy as np
import plotly.graph_objects
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg

from benchmark.charts.chart import Label, Panel, Series
from benchmark.charts.label_placement import overlap
from benchmark.charts.with_matplotlib import to_matplotlib
from benchmark.records.record import RunRecord
from reports.figures.fronts import figures, stated_points
from reports.labels import Methods
from reports.read.results import Results
from reports.write.figure import Figure
from tests.reports.made_up import crowded, made_up, run

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


def test_marks_are_at_the_means_over_seeds_and_two_seeds_are_dots(results: Results):
    (figure,) = figures(results)
    zero = round(panel_of(figure).x.zero, 6)
    means = {(10_000, 105), (1_000, 205), (zero, 1_005), (1_050, 105), (105, 205)}
    assert means | {(10_000, 100), (10_000, 110), (1_000, 200), (1_000, 210)} <= marks_in(figure)
    assert bars_in(figure) == {}
    assert "Means over 2 seeds; with fewer than 3 there are no intervals." in figure.caption
    assert panel_of(figure).title == "2 seeds: small dots are single seeds"
    assert sorted(label.text for label in labels_in(figure)) == ["D=0.1", "D=10", "γ=1", "γ=2", "γ=∞"]


def test_legend_and_hover_are_the_same_in_picture_and_plot(results: Results):
    (figure,) = figures(results)
    legend = [text.get_text() for text in to_matplotlib(figure).legends[0].get_texts()]
    assert sorted(legend) == sorted(item.label for item in figure.legend())  # it is filled column by column
    extremes = {"Async-LinUCB γ=∞: 1,005, no communication", "Async-LinUCB γ=1: 105 at $C_T$ = 10,000"}
    assert extremes <= {*legend}
    names = [trace["name"] for trace in figure.interactive["data"] if trace["showlegend"]]
    assert sorted(names) == sorted(name.replace("$C_T$", "C<sub>T</sub>") for name in legend)
    first, trace = panel_of(figure).series[0], figure.interactive["data"][0]
    name, *values, seeds = first.hover[1]
    assert (name, seeds) == ("Async-LinUCB", "2 seeds (0, 1): no interval")
    assert values == trace["customdata"][1] == ["γ = 2", "regret 205", "communication 1,000"]
    assert (trace["x"][1], trace["y"][1]) == (first.x[1], first.y[1]) == (1000.0, 205.0)
    assert trace["hovertemplate"].startswith(f"<b>{name}</b><br>%{{customdata[0]}}<br>")
    assert seeds in trace["hovertemplate"]


def test_intervals_are_student_t_intervals():
    runs = [
        run("async-linucb", gamma, seed, communication=1000 * gamma, normalised_reward=2 + seed / 10)
        for gamma in (2.0, 3.0)
        for seed in range(3)
    ]
    (figure,) = figures(made_up(runs))
    half = 4.302652730 * 0.1 / np.sqrt(3)  # three seeds, 0.1 apart: t of two degrees
    np.testing.assert_allclose(bars_in(figure)[2000], [2.1 - half, 2.1 + half], rtol=1e-8)
    assert "Means over 3 seeds with 95 % Student t intervals." in figure.caption
    assert panel_of(figure).title == "3 seeds; bars: 95 % intervals"


def test_numbers_of_the_paper_are_hollow_marks_on_its_own_data():
    points = stated_points("fig_e", "delicious-tagged", "normalised_reward", Methods())
    assert [(point.x, point.y, point.text) for point in points] == [
        (14_599, 1.8322, "paper, γ=9,001"),
        (12_901_135, 1.2887, "paper, γ=1.01"),
    ]
    assert stated_points("fig_e", "delicious", "normalised_reward", Methods()) == []


def test_at_most_six_thresholds_of_a_curve_are_labelled_and_no_label_overlaps_another_or_a_mark():
    (figure,) = figures(made_up(crowded()))
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


def test_the_plot_has_all_that_the_picture_has():
    (figure,) = figures(made_up(crowded(dataset="delicious-tagged", source="mirror")))
    traces = {trace["name"]: trace for trace in figure.interactive["data"]}
    plotly.graph_objects.Figure(figure.interactive)  # refuses unknown names and values
    stairs, *_ = [trace for trace in figure.interactive["data"] if trace.get("line", {}).get("shape") == "hv"]
    assert stairs["legendgroup"] == "Async-LinUCB  (γ)"
    assert (stairs["x"], stairs["y"]) == (sorted(stairs["x"]), sorted(stairs["y"]))
    stated = traces["stated in the paper"]
    assert (stated["marker"]["symbol"], stated["x"]) == ("diamond-open", [14_599, 12_901_135])
    assert panel_of(figure).remark == "random choice: 1, below this picture"
    notes = [note["text"] for note in figure.interactive["layout"]["annotations"]]
    assert {"<b>γ=∞</b>", "<b>γ=1</b>", "paper, γ=9,001", "paper, γ=1.01"} <= set(notes)
    assert 3 * 6 <= len([text for text in notes if "paper" not in text]) <= 3 * (6 + 2)
    assert len(figure.interactive["phone"]) > 6
    assert sum(trace.get("showlegend", True) for trace in figure.interactive["data"]) <= 8


def with_periods(*periods: int) -> list[RunRecord]:
    """Runs of an algorithm without a threshold: the longer its period, the less it communicates."""
    return [
        run("gossip:Gossip", np.nan, settings={"period": period}, communication=5000.0 / period) for period in periods
    ]


def test_settings_of_an_algorithm_without_a_threshold_are_one_curve_by_communication():
    (figure,) = figures(made_up([*with_periods(5, 50, 10), *crowded()]))
    curve = curves_in(figure)["Gossip (gossip)"]
    assert curve.x == (100.0, 500.0, 1000.0)
    assert [hover[1] for hover in curve.hover] == ["period=50", "period=10", "period=5"]
    texts = [label.text for label in labels_in(figure)]
    assert {"period=5", "period=10", "period=50"} <= set(texts)
    assert " or, without a threshold, the values of the parameters," in figure.caption


@pytest.mark.parametrize(("covered", "insets"), [(False, 1), (True, 0)])
def test_the_lowest_part_is_enlarged_where_the_inset_hides_no_mark(covered: bool, insets: int):
    points = {1.5: (20_000, 100), 10.0: (10, 5_000), **({3.0: (3_000, 1_500)} if covered else {})}
    runs = [
        run("async-linucb", gamma, dataset="simulated-uniform", source="simulated", communication=x, regret=y)
        for gamma, (x, y) in points.items()
    ]
    (figure,) = figures(made_up(runs))
    axes, *_ = to_matplotlib(figure).axes
    assert sum(isinstance(child, Axes) for child in axes.child_axes) == insets


def test_an_experiment_on_two_data_sets_has_two_figures():
    runs = [run("async-linucb", 2.0, dataset=name, experiment="mine") for name in ("lastfm", "delicious")]
    assert [figure.name for figure in figures(made_up(runs))] == ["mine_delicious", "mine_lastfm"]
