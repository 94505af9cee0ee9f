"""Reference lines: drawn at their level, listed, not ranked, and labelled where another data set takes the place."""

import numpy as np
import plotly.graph_objects

from benchmark.charts.with_matplotlib import to_matplotlib
from benchmark.records.record import RunRecord
from reports.figures.fronts import REFERENCES, figures
from reports.tables import settings
from reports.write.figure import Figure
from tests.reports.made_up import crowded, made_up, run


def reference_runs(experiment: str = "references", level: float = 9.0, **more: object) -> list[RunRecord]:
    """Return two settings of one reference, and another one that is far above all methods."""
    low = {"normalised_reward": 1.4, "communication": 0.0, "experiment": experiment, **more}
    return [
        run("most-popular", np.nan, settings={"per_client": False}, **low),
        run("most-popular", np.nan, settings={"per_client": True}, **(low | {"normalised_reward": 1.1})),
        run("most-seen", np.nan, **(low | {"normalised_reward": level})),
    ]


def lines_of(figure: Figure) -> dict[str, float]:
    """Return the levels of the reference lines by their names."""
    (panel,) = figure.plain_panels
    return {level.name: level.value for level in panel.levels if level.label == REFERENCES}


def test_references_of_the_experiment_are_lines_inside_the_plot():
    runs = [*crowded("fig_e"), *reference_runs("fig_e")]
    (figure,) = figures(made_up(runs))
    names = {"Most seen": 9.0, "Most popular so far": 1.4, "Most popular so far (per client)": 1.1}
    assert lines_of(figure) == names
    traces = [trace for trace in figure.interactive["data"] if trace.get("legendgroup") == REFERENCES]
    assert [(trace["y"], trace["showlegend"]) for trace in traces] == [
        ([9.0, 9.0], True),
        ([1.4, 1.4], False),
        ([1.1, 1.1], False),
    ]
    notes = {note["text"] for note in figure.interactive["layout"]["annotations"]}
    assert {"Most seen", "Most popular so far"} <= notes
    plotly.graph_objects.Figure(figure.interactive)
    assert figure.plain_panels[0].y.range[1] > 9
    (axes,) = to_matplotlib(figure).axes
    assert {text.get_text() for text in axes.texts if text.get_gid() == "line-name"} == {*names, "random choice"}
    assert "they are not ranked" in figure.caption


def test_references_of_another_experiment_are_drawn_on_the_same_stream_only():
    shared = [*crowded("fig_e", fingerprint="same"), *reference_runs(fingerprint="same")]
    figure = next(each for each in figures(made_up(shared)) if each.name == "fig_e")
    assert len(lines_of(figure)) == 3
    assert (
        "Outside the plot: Most seen: 9 (reference), Most popular so far (per client): 1.1 (reference)."
        in figure.caption
    )
    assert figure.plain_panels[0].y.range[1] < 9
    other = [*crowded("fig_e", fingerprint="one"), *reference_runs(fingerprint="another")]
    figure = next(each for each in figures(made_up(other)) if each.name == "fig_e")
    assert "reference" not in figure.caption


def test_references_are_listed_beside_the_best_method():
    runs = [*crowded("fig_e"), *reference_runs("fig_e")]
    (table,) = settings.reference_tables(made_up(runs))
    frame = table.frame.set_index("rule")
    assert list(frame.index[:1]) == ["Most seen"]
    assert frame.loc["Most seen", "better than the best method"] == "yes"
    assert frame.loc["Most popular so far", "better than the best method"] == ""
    assert (frame["kind"] == "best method").sum() == 1


def test_a_fallback_is_labelled_in_figures():
    runs = crowded("fig_f", dataset="movielens-1m")
    (figure,) = figures(made_up(runs))
    assert "MovieLens 1M instead of 20M" in figure.title
    assert "MovieLens 1M instead of 20M" in figure.caption
