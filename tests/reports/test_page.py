"""What stands in report.html, without a browser."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest

from reports.context import Context, make_context
from reports.figures import embedding, fronts, user_groups
from reports.page import in_script, page, write_page
from reports.page_sections import make_sections
from reports.results import Results, read_results
from reports.table import Table
from reports.tables import missing
from tests.reports.hand_made import HandMade
from tests.reports.made_up import made_up, run


@pytest.fixture(scope="module")
def text(hand_made: HandMade) -> str:
    results = read_results(hand_made.uri)
    context = make_context(results, hand_made.folder / "data")
    figures = [*fronts.figures(results, context), *user_groups.figures(results, context)]
    return page(results, context, missing.tables(results, context), figures)


def without_plotly(text: str) -> str:
    """The page without Plotly's own script, which holds all kinds of addresses that it never opens."""
    return re.sub(r"<script>\n.{1000000,}?</script>", "", text, flags=re.DOTALL)


def test_the_page_refers_to_nothing_outside_of_itself(text: str):
    own = without_plotly(text)
    assert len(own) < len(text) - 1_000_000
    for address in re.findall(r"""(?:src|href)="([^"]*)""", own):
        assert address.startswith(("#", "data:image/svg+xml;base64,"))
    assert "default-src 'none'" in own
    assert "@import" not in own
    assert "url(" not in own


def test_every_link_of_the_contents_leads_somewhere(text: str):
    own = without_plotly(text)
    anchors = set(re.findall(r'id="([^"]*)"', own))
    links = re.findall(r'href="#([^"]*)"', own)
    assert len(links) > 8
    assert set(links) <= anchors


def test_plots_are_json_without_nan(text: str):
    found = re.search(r'<script type="application/json" id="plots">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    plots = json.loads(found.group(1), parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert set(plots) == {"fig_a", "user_groups_delicious"}


def test_nothing_can_end_a_script_before_its_end():
    assert "</script>" not in in_script(json.dumps({"name": "</script><script>alert(1)</script>"}))
    assert json.loads(in_script('{"a": "<b>"}')) == {"a": "<b>"}


def test_names_of_users_are_text_and_never_markup():
    runs = [run("<img src=x onerror=alert(1)>", 2.0, experiment="<b>mine</b>", dataset="<i>data</i>")]
    results, context = made_up(runs)
    own = without_plotly(page(results, context, [], fronts.figures(results, context)))
    assert "<img src=x" not in own
    assert "<b>mine" not in own
    assert "<i>data" not in own


def test_data_cards_say_source_licence_counts_and_what_differs(text: str):
    card = text[text.index('id="card-delicious-mirror"') :].partition("</article>")[0]
    for part in ("RECONSTRUCTED DATA", "made by hand", "214 of 220 published", "<dt>licence</dt>", "fingerprint"):
        assert part in card


def test_warnings_stand_at_the_top(text: str):
    header = text[: text.index("</header>")]
    assert "RECONSTRUCTED DATA (214 of 220 interactions)" in header


def test_what_is_missing_is_said(text: str):
    assert "the whole experiment: not run" in text


def test_versions_and_the_way_to_repeat_it(results: Results, context: Context):
    known = Results(results.runs, results.uri, results.sweeps, facts={"commit": {"abc": 15, "def-modified": 1}})
    own = without_plotly(page(known, context, [], []))
    assert "abc (15 runs), def-modified (1 runs)" in own
    assert "make benchmark PROFILE=quick" in own
    assert "The runs were made from a checkout with local changes." in own


def test_figures_and_tables_stand_in_the_section_of_their_subject(results: Results, context: Context):
    figures = [*fronts.figures(results, context), *embedding.figures(results, context)]
    tables = [Table(name, name, "", results.runs[["seed"]]) for name in ("bounds_x", "leaderboard_x", "failed", "own")]
    sections = {section.title: section for section in make_sections(results, context, tables, figures)}
    assert [figure.name for figure in sections["Figures"].figures] == ["fig_a"]
    assert [figure.name for figure in sections["Users by activity"].figures] == ["users_delicious"]
    assert [table.name for table in sections["Bounds"].tables] == ["bounds_x"]
    assert [table.name for table in sections["What is missing"].tables] == ["failed"]
    assert [table.name for table in sections["Further tables"].tables] == ["own"]
    assert "Over time" not in sections


def test_what_is_missing_comes_first_only_if_something_is(results: Results, context: Context):
    def order(*missing: str) -> list[str]:
        table = Table("missing", "What is missing", "", pd.DataFrame({"missing": missing}))
        return [section.title for section in make_sections(results, context, [table], [])]

    assert order("nothing", "nothing")[0] != "What is missing"
    assert "What is missing" in order("nothing")
    assert order("nothing", "seed 3")[0] == "What is missing"
    assert order("nothing", "not known: the file of this experiment is not part of the package")[0] != "What is missing"


def test_a_saved_picture_is_not_drawn_again(results: Results, context: Context, tmp_path: Path):
    (figure,) = fronts.figures(results, context)
    figure.save(tmp_path / "figures")
    (again,) = fronts.figures(results, context)
    write_page(tmp_path / "report.html", results, context, [], [again])
    assert "svg" not in vars(again)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["figures", "report.html"]


def test_a_picture_that_cannot_be_drawn_costs_no_other(results: Results, context: Context):
    (figure,) = fronts.figures(results, context)
    object.__setattr__(figure, "draw", lambda: 1 / 0)
    assert "The picture could not be drawn." in page(results, context, [], [figure])
