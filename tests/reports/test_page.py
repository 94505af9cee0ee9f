"""The content of report.html, without a browser."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest

from reports.figures import embedding, fronts, user_groups
from reports.page.page import in_script, page, write_page
from reports.page.sections import make_sections
from reports.read.context import Context, make_context
from reports.read.results import Results, read_results
from reports.subjects import BOUNDS, FURTHER, MISSING, Subject
from reports.tables import bounds, missing, settings
from reports.write.table import Table
from tests.reports.hand_made import HandMade
from tests.reports.made_up import made_up, run


@pytest.fixture(scope="module")
def text(hand_made: HandMade) -> str:
    results = read_results(hand_made.uri)
    context = make_context(results, hand_made.folder / "data")
    figures = [*fronts.figures(results, context), *user_groups.figures(results, context)]
    return page(results, context, missing.tables(results, context), figures)


def without_plotly(text: str) -> str:
    """Return the page without Plotly's script, which contains addresses that it never opens."""
    return re.sub(r"<script>\n.{1000000,}?</script>", "", text, flags=re.DOTALL)


def test_the_page_refers_to_no_other_file(text: str):
    html = without_plotly(text)
    assert len(html) < len(text) - 1_000_000
    for address in re.findall(r"""(?:src|href)="([^"]*)""", html):
        assert address.startswith(("#", "data:image/svg+xml;base64,"))
    assert "default-src 'none'" in html
    assert "@import" not in html
    assert "url(" not in html


def test_every_link_of_the_contents_has_a_target(text: str):
    html = without_plotly(text)
    anchors = set(re.findall(r'id="([^"]*)"', html))
    links = re.findall(r'href="#([^"]*)"', html)
    assert len(links) > 8
    assert set(links) <= anchors


def test_plots_are_json_without_nan(text: str):
    script = re.search(r'<script type="application/json" id="plots">(.*?)</script>', text, re.DOTALL)
    assert script is not None
    plots = json.loads(script.group(1), parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert set(plots) == {"fig_a", "user_groups_delicious"}


def test_data_cannot_end_the_script_element():
    assert "</script>" not in in_script(json.dumps({"name": "</script><script>alert(1)</script>"}))
    assert json.loads(in_script('{"a": "<b>"}')) == {"a": "<b>"}


def test_names_are_text_and_never_markup():
    runs = [run("<img src=x onerror=alert(1)>", 2.0, experiment="<b>mine</b>", dataset="<i>data</i>")]
    results, context = made_up(runs)
    html = without_plotly(page(results, context, [], fronts.figures(results, context)))
    assert "<img src=x" not in html
    assert "<b>mine" not in html
    assert "<i>data" not in html


def test_data_cards_have_source_licence_counts_and_differences(text: str):
    card = text[text.index('id="card-delicious-mirror"') :].partition("</article>")[0]
    for part in ("RECONSTRUCTED DATA", "made by hand", "214 of 220 published", "<dt>licence</dt>", "fingerprint"):
        assert part in card


def test_warnings_are_at_the_top(text: str):
    header = text[: text.index("</header>")]
    assert "RECONSTRUCTED DATA (214 of 220 interactions)" in header


def test_missing_experiments_are_listed(text: str):
    assert "experiment not run" in text


def test_the_page_has_versions_and_the_commands_to_reproduce_the_results(results: Results, context: Context):
    versions = {"commit": {"abc": 15, "def-modified": 1}}
    results = Results(results.runs, results.uri, results.sweeps, versions=versions)
    html = without_plotly(page(results, context, [], []))
    assert "abc (15 runs), def-modified (1 runs)" in html
    assert "make benchmark PROFILE=quick" in html
    assert "The runs were made from a checkout with uncommitted changes." in html


def test_figures_and_tables_are_in_the_section_of_their_subject(results: Results, context: Context):
    figures = [*fronts.figures(results, context), *embedding.figures(results, context)]
    subjects = {"bounds_x": BOUNDS, "failed": MISSING, "mine": Subject("Mine"), "plain": FURTHER}
    tables = [Table(name, name, "", results.runs[["seed"]], subject=subject) for name, subject in subjects.items()]
    sections = {section.title: section for section in make_sections(results, context, tables, figures)}
    assert [table.name for table in sections["Mine"].tables] == ["mine"]
    assert [figure.name for figure in sections["Figures"].figures] == ["fig_a"]
    assert [figure.name for figure in sections["Users by activity"].figures] == ["users_delicious"]
    assert [table.name for table in sections["Bounds"].tables] == ["bounds_x"]
    assert [table.name for table in sections["Missing runs and data"].tables] == ["failed"]
    assert [table.name for table in sections["Further tables"].tables] == ["plain"]
    assert "Over time" not in sections


@pytest.mark.parametrize("experiment", ["repair", "boundary", "group_size", "paper_run", "users_test", "study_mine"])
def test_the_name_of_an_experiment_does_not_choose_its_section(experiment: str):
    runs = [
        run(algorithm, gamma, experiment=experiment, dataset="own")
        for algorithm in ("async-linucb", "sync-linucb")
        for gamma in (1.0, 2.0)
    ]
    results, context = made_up(runs)
    tables = [*settings.tables(results, context), *bounds.tables(results, context)]
    sections = make_sections(results, context, tables, fronts.figures(results, context))
    figures = {figure.name: section.title for section in sections for figure in section.figures}
    assert figures == {experiment: "Figures"}
    names = {table.name: section.title for section in sections for table in section.tables}
    assert names == {
        f"settings_{experiment}_own": "Settings",
        "bounds": "Bounds",
        f"bounds_{experiment}_own": "Bounds",
    }


def test_the_section_of_missing_runs_comes_first_only_if_runs_are_missing(results: Results, context: Context):
    def order(*missing: str) -> list[str]:
        table = Table("missing", "Missing runs and data", "", pd.DataFrame({"missing": missing}), subject=MISSING)
        return [section.title for section in make_sections(results, context, [table], [])]

    assert order("nothing", "nothing")[0] != "Missing runs and data"
    assert "Missing runs and data" in order("nothing")
    assert order("nothing", "seed 3")[0] == "Missing runs and data"
    assert order("nothing", "unknown: this experiment is not part of the package")[0] != "Missing runs and data"


def test_a_saved_picture_is_not_drawn_again(results: Results, context: Context, tmp_path: Path):
    (figure,) = fronts.figures(results, context)
    figure.save(tmp_path / "figures")
    (again,) = fronts.figures(results, context)
    write_page(tmp_path / "report.html", results, context, [], [again])
    assert "svg" not in vars(again)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["figures", "report.html"]


def test_a_picture_that_cannot_be_drawn_does_not_stop_the_page(results: Results, context: Context):
    (figure,) = fronts.figures(results, context)
    object.__setattr__(figure, "draw", lambda: 1 / 0)
    assert "The figure could not be drawn." in page(results, context, [], [figure])
