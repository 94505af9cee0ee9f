"""No text of a picture is cut: titles, legends, labels and notes are inside the picture."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

from benchmark.charts.chart import MAX_ENTRIES, Axis, Panel
from benchmark.charts.with_matplotlib import RC, to_matplotlib
from benchmark.records.record import RunRecord
from reports.build import makers
from reports.figures import by_parameter, fronts
from reports.read.results import Results
from reports.write.figure import Figure, make_figure
from tests.reports.made_up import crowded, made_up, many_settings, run

pytestmark = pytest.mark.slow

TOLERANCE = 1.0
"""Pixels."""


def clipped(figure: Figure) -> list[str]:
    """Return the texts that reach outside the picture."""
    with rc_context(RC):
        canvas = to_matplotlib(figure)
        renderer = FigureCanvasAgg(canvas).get_renderer()
        canvas.draw(renderer)
        hidden = {id(text) for axes in canvas.findobj(Axes) for text in _ticks_out_of_range(axes)}
        texts = [text for text in canvas.findobj(Text) if text.get_visible() and text.get_text().strip()]
        whole = canvas.bbox.padded(TOLERANCE)
        boxes = {text: text.get_window_extent(renderer) for text in texts if id(text) not in hidden}
        return [
            text.get_text()
            for text, box in boxes.items()
            if not (box.min >= whole.min).all() or not (box.max <= whole.max).all()
        ]


def _ticks_out_of_range(axes: Axes) -> Iterator[Text]:
    """Yield the labels of ticks outside the range of an axis: matplotlib does not draw them."""
    for axis in (axes.xaxis, axes.yaxis):
        low, high = sorted(axis.get_view_interval())
        for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
            if not low <= tick.get_loc() <= high:
                yield from (tick.label1, tick.label2)


def entries(figure: Figure) -> int:
    """Return the number of entries in the legend, the largest of picture and plot."""
    canvas = to_matplotlib(figure)
    legends = [
        len(legend.get_texts()) for legend in (*canvas.legends, *(axes.get_legend() for axes in canvas.axes)) if legend
    ]
    traces = (figure.interactive or {"data": []})["data"]
    return max([0, *legends, sum(bool(trace.get("showlegend", True)) for trace in traces)])


def pictures_of(runs: list[RunRecord]) -> list[Figure]:
    results = made_up(runs)
    return [*fronts.figures(results), *by_parameter.figures(results)]


def heterogeneous() -> list[RunRecord]:
    return [
        run("async-linucb-am", 5.0, seed, experiment="fig_c", dataset=f"simulated-heterogeneous-{dim}", **numbers)
        for dim in (4, 8, 12)
        for seed in range(2)
        for numbers in [{"settings": {"global_dim": dim}, "regret": 900.0 - dim, "communication": 90.0 * dim}]
    ]


@pytest.mark.parametrize(
    "runs",
    [
        pytest.param(crowded(), id="three methods at all thresholds"),
        pytest.param(crowded(dataset="delicious-tagged", source="mirror"), id="with the numbers of the paper"),
        pytest.param(crowded("fig_a", dataset="simulated-uniform", source="simulated"), id="with an inset"),
        pytest.param(crowded("low_communication", dataset="delicious-tagged"), id="against the threshold"),
        pytest.param(heterogeneous(), id="against the number of global features"),
        pytest.param(
            [
                run("async-linucb", gamma, settings=settings, experiment="study_ties", communication=100.0 * gamma)
                for settings in many_settings(MAX_ENTRIES + 4)
                for gamma in (2.0, 3.0)
            ],
            id="more variants than a legend has entries",
        ),
    ],
)
def test_no_text_of_a_picture_is_cut(runs: list[RunRecord]):
    pictures = pictures_of(runs)
    assert pictures
    for picture in pictures:
        assert clipped(picture) == []
        assert entries(picture) <= MAX_ENTRIES


def test_no_text_of_the_pictures_of_a_store_is_cut(results: Results):
    names = set()
    for module in makers("reports.figures"):
        for picture in module.figures(results):
            assert clipped(picture) == []
            assert entries(picture) <= MAX_ENTRIES
            names.add(picture.name)
    assert {"claims", "fig_a", "fig_a_over_time", "user_groups_delicious", "users_delicious"} <= names


EMPTY = Panel(Axis("x", (0, 1)), Axis("y", (0, 1)), ())


def test_cut_text_is_found():
    long = make_figure("name", "A title that is drawn smaller since it is long " * 4, "", [EMPTY], experiments=())
    assert clipped(long) == []
    panel = replace(EMPTY, y=Axis("this leaves the picture below and above " * 3, (0, 1)))
    assert len(clipped(make_figure("name", "title", "", [panel], experiments=()))) == 1
