from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure as Canvas

from reports.write.figure import kind_of, make_figure

LABEL = "delicious: RECONSTRUCTED DATA (1 of 2 users)"


def picture() -> Canvas:
    canvas = Canvas(figsize=(6, 4))
    canvas.add_axes((0.1, 0.1, 0.8, 0.6)).plot([1, 2], [3, 4])
    return canvas


def test_a_figure_is_saved_as_png_svg_caption_and_numbers(tmp_path: Path):
    figure = make_figure(
        "one", "Title", "Caption.", picture, labels=[LABEL], experiments=["one"], data=pd.DataFrame({"x": [1]})
    )
    paths = figure.save(tmp_path / "figures")
    assert [path.name for path in paths] == ["one.png", "one.svg", "one.md", "one.csv"]
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {path.name for path in paths}
    assert paths[0].read_bytes().startswith(b"\x89PNG")
    title = "Title – RECONSTRUCTED DATA"
    assert paths[2].read_text() == f"### {title}\n\n![{title}](one.svg)\n\nCaption. {LABEL}.\n"
    assert pd.read_csv(paths[3]).to_dict("list") == {"x": [1], "data_label": [LABEL]}


def test_the_label_is_searchable_text_in_the_picture():
    figure = make_figure("one", "Title", "Caption.", picture, labels=[LABEL], experiments=["one"])
    assert LABEL in figure.svg.decode()
    assert "Title – RECONSTRUCTED DATA" in figure.svg.decode()


def test_a_long_label_is_broken_into_lines_that_fit():
    label = "delicious: RECONSTRUCTED DATA (" + "; ".join(f"part {number} of the data" for number in range(20)) + ")"
    figure = make_figure("one", "Title", "Caption.", picture, labels=[label], experiments=["one"])
    text = figure.svg.decode()
    assert label not in text
    assert all(f"part {number} of" in text for number in range(0, 20, 7))


def test_the_same_figure_gives_the_same_bytes():
    one, other = (make_figure("one", "Title", "Caption.", picture, experiments=["one"]) for _ in range(2))
    assert one.svg == other.svg
    assert one.png == other.png


def test_official_data_need_no_label():
    figure = make_figure("one", "Title", "Caption.", picture, experiments=["one"])
    assert (figure.title, figure.caption) == ("Title", "Caption.")


def test_the_kind_of_data_is_in_capitals():
    assert kind_of(LABEL) == "RECONSTRUCTED DATA"
    assert kind_of("movielens: STAND-IN DATA (generated): not a valid result") == "STAND-IN DATA"
