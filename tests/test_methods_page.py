"""docs/methods.md has a section for each method, as the method declares it."""

from pathlib import Path

import pytest

from algorithms.method import MethodInfo
from algorithms.registry import built_in_methods
from benchmark.charts.chart import MAX_ENTRIES
from tests.tools import methods_pictures as pictures
from tests.tools.methods_page import PICTURES, methods_sections, section
from tests.tools.prose import BLOCK

PAGE = (Path(__file__).parents[1] / "docs" / "methods.md").read_text()
CONTENDERS = [info for info in built_in_methods().values() if info.role == "contender"]


def test_the_page_is_what_the_methods_declare() -> None:
    renewed = BLOCK.sub(lambda match: match[1] + methods_sections() + match[3], PAGE)
    assert renewed == PAGE, "run: make docs"
    assert all(f"## {info.label}\n" in PAGE for info in CONTENDERS)


@pytest.mark.parametrize("info", CONTENDERS, ids=lambda info: info.name)
def test_a_contender_says_what_it_does_sends_and_where_it_is_ours(info: MethodInfo) -> None:
    about = info.method.about
    assert about.idea.count(". ") <= 2
    assert about.formula
    assert about.sends
    if "ours" in info.label:
        assert about.deviations
        assert "ours" in (info.method.__doc__ or "")


@pytest.mark.parametrize("info", CONTENDERS, ids=lambda info: info.name)
def test_a_section_lists_the_deviations_and_shows_the_front(info: MethodInfo) -> None:
    _, _, last_item = section(info).partition("- differs from the published form:")
    assert last_item.count("\n  - ") == len(info.method.about.deviations)
    assert last_item.startswith(" no\n") == (not info.method.about.deviations)
    assert f"![{info.label}: front](pictures/front_{info.name}.png)" in last_item


def test_the_page_shows_all_pictures_that_are_drawn() -> None:
    drawn = [method for info in CONTENDERS for method in pictures.front_of(info)]
    points = {
        method: pictures.Point(number, number / 10)
        for number, method in enumerate([*drawn, pictures.ALONE, *pictures.private_methods().values()])
    }
    clusters = [[1, 2, 2, 1] for _ in pictures.DISTANCES]
    charts = [*pictures.front_charts(points), pictures.epsilon_chart(points), pictures.clusters_chart(clusters)]
    files = {f"{chart.name}.png" for chart in charts}
    assert files == {file.name for pattern in ("front_*", "method_*") for file in PICTURES.glob(pattern)}
    assert all(f"(pictures/{file})" in PAGE for file in files)


def test_a_legend_has_room_for_all_methods() -> None:
    assert len(CONTENDERS) < MAX_ENTRIES
