from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from benchmark.charts.chart import Axis, Panel, Series
from benchmark.charts.with_matplotlib import picture_files
from reports.write.figure import Drawing, Figure, make_figure

pytestmark = pytest.mark.slow

LABEL = "delicious: RECONSTRUCTED DATA (1 of 2 users)"
PANELS = [Panel(Axis("x", (0, 3)), Axis("y", (2, 5)), (Series((1, 2), (3, 4), "#0072b2", "one", "o", "-"),))]


def test_a_figure_is_saved_as_png_svg_caption_and_numbers(tmp_path: Path):
    figure = make_figure(
        "one", "Title", "Caption.", PANELS, labels=[LABEL], experiments=["one"], data=pd.DataFrame({"x": [1]})
    )
    paths = figure.save(tmp_path / "figures")
    assert [path.name for path in paths] == ["one.png", "one.svg", "one.md", "one.csv"]
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {path.name for path in paths}
    assert paths[0].read_bytes().startswith(b"\x89PNG")
    title = "Title – RECONSTRUCTED DATA"
    assert paths[2].read_text() == f"### {title}\n\n![{title}](one.svg)\n\nCaption. {LABEL}.\n"
    assert pd.read_csv(paths[3]).to_dict("list") == {"x": [1], "data_label": [LABEL]}


def test_labels_are_searchable_text_in_the_picture_and_a_long_one_is_broken_into_lines():
    long = "delicious: STAND-IN DATA (" + "; ".join(f"part {number} of the data" for number in range(20)) + ")"
    figure = make_figure("one", "Title", "Caption.", PANELS, labels=[LABEL, long], experiments=["one"])
    text = figure.svg.decode()
    assert "Title – RECONSTRUCTED DATA, STAND-IN DATA" in text
    assert LABEL in text
    assert long not in text
    assert all(f"part {number} of" in text for number in range(0, 20, 7))


def test_the_same_figure_gives_the_same_bytes():
    one, other = simple("one"), simple("one")
    assert picture_files(one) == picture_files(other)
    assert one.content() == other.content()
    assert (one.title, one.caption) == ("Title of one", "Caption.")  # official data need no label


def simple(name: str) -> Figure:
    return make_figure(name, f"Title of {name}", "Caption.", PANELS, experiments=["one"])


def test_many_figures_are_drawn_in_other_processes_and_one_that_fails_stops_no_other(
    tmp_path: Path,
):
    uneven = Series((1, 2), (3,), "#0072b2", marker="o")
    bad = replace(simple("bad"), panels=(replace(PANELS[0], items=(uneven,)),))
    figures = [simple(f"number_{number}") for number in range(7)]
    with Drawing(tmp_path / "many") as drawing:
        drawing.start([bad, *figures])
        with pytest.raises(ValueError, match="must have same first dimension"):
            drawing.saved(bad)
        many = {path.name: path.read_bytes() for figure in figures for path in drawing.saved(figure)}
    with Drawing(tmp_path / "few") as drawing:
        drawing.start(figures[:1])
        few = {path.name: path.read_bytes() for path in drawing.saved(figures[0])}
    assert len(many) == 7 * 3
    assert few == {name: many[name] for name in few}
