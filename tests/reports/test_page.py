"""The content of report.html, without a browser."""

import gzip
import json
import math
import re
from base64 import b64decode
from dataclasses import replace

import pytest

from benchmark.charts.chart import Matrix
from reports.figures import fronts, users
from reports.page.glossary import TERMS, linked
from reports.page.page import in_script, packed_json, page, plotly_script
from reports.page.sections import MAX_CONTENTS
from reports.read.inputs import inputs_hash
from reports.read.results import Results, read_results
from reports.tables import missing, settings
from tests.reports.hand_made import HandMade
from tests.reports.made_up import made_up, run
from tests.reports.whole_page import unpacked, whole_page


@pytest.fixture(scope="module")
def text(hand_made: HandMade) -> str:
    results = read_results(hand_made.uri)
    results = replace(results, folder=hand_made.folder / "data")
    figures = [*fronts.figures(results), *users.figures(results)]
    return page(results, missing.tables(results), figures)


@pytest.fixture(scope="module")
def html(text: str) -> str:
    return whole_page(text)


def test_the_page_refers_to_no_other_file(html: str):
    for address in re.findall(r"""(?:src|href)="([^"]*)""", html):
        assert address.startswith(("#", "data:image/svg+xml;base64,"))
    assert "default-src 'none'" in html
    assert "@import" not in html
    assert "url(" not in html


def test_folded_sections_are_compressed_inside_the_page(text: str, html: str):
    assert "experiment not run" not in text
    assert "experiment not run" in html
    assert set(json.loads(unpacked(text, "folded"))) == set(re.findall(r'<div data-packed="([^"]*)"', html))
    assert unpacked(text, "plotly") == plotly_script()
    assert gzip.decompress(b64decode(packed_json({"x": [1.23456789, 2.0, None]}))) == b'{"x":[1.23457,2,null]}'


def test_every_link_of_the_contents_has_a_target(html: str):
    anchors = set(re.findall(r'id="([^"]*)"', html))
    links = re.findall(r'href="#([^"]*)"', html)
    assert len(links) > 8
    assert set(links) <= anchors


def test_plots_are_json_without_nan(text: str):
    content = unpacked(text, "plots")
    plots = json.loads(content, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert set(plots) == {"fig_a", "user_groups_delicious", "users_delicious"}


def test_the_answer_comes_first_with_a_sentence_and_the_best_setting_within_each_budget(html: str):
    places = ('id="answer"', "<figure", '<table class="answer">', "Missing runs and data</h2>")
    assert sorted(places, key=html.index) == [*places]  # plots before tables
    text = re.sub(r"<[^>]*>", "", html[html.index('id="answer"') : html.index("<figure")])
    answer = html[html.index('<table class="answer">') :].partition("</table>")[0]
    assert "2 seeds: no statement on differences (10 are needed). The best mean is 1,005 without communication" in text
    assert "(Async-LinUCB γ=∞) and 105 with it (Sync-LinUCB D=0.1, 210 transfers per client)." in text
    assert "changes little" not in text
    rows = re.findall(r'<tr><th scope="row">(.*?)</tr>', answer, re.DOTALL)
    cells = {
        row.partition("<")[0]: [re.sub(r"<[^>]*>", "", cell) for cell in re.findall(r'"cell">(.*?)</span></td>', row)]
        for row in rows
    }
    assert cells["Async-LinUCB"] == ["1,005 γ=∞", "1,005 γ=∞", "1,005 γ=∞", "105 γ=1"]
    assert cells["Sync-LinUCB"][0] == "–"
    assert "chosen on these seeds" in html
    assert "<code>fedbandit board</code>" in html


def test_terms_that_a_page_uses_are_defined_once_and_linked(html: str):
    definitions = re.findall(r'<dt id="(term-[^"]*)"', html)
    assert len(set(definitions)) == len(definitions)
    links = set(re.findall(r'class="term" href="#(term-[^"]*)"', html))
    assert {"term-budget", "term-transfer", "term-front"} <= links <= set(definitions)
    (front,) = [term.meaning for term in TERMS if term.name == "front"]
    link = f'<a class="term" href="#term-front" title="{front}">front</a>'
    assert linked("a front & `no front`") == f"a {link} &amp; <code>no front</code>"


def test_only_the_answer_the_fronts_and_the_comparisons_are_unfolded(html: str):
    unfolded = re.findall(r'<section class="part" id="([^"]*)"', html)
    assert unfolded == ["answer", "reward-against-communication", "within-budgets"]
    assert "users-by-activity" in re.findall(r'<details class="part" id="([^"]*)"', html)


def test_own_experiments_show_their_title_and_description(fresh: HandMade):
    fresh.run("mine", "async-linucb", 2.0, 0, regret=10.0, communication=5.0)
    experiment = fresh.experiment("mine")
    note = "**How patient are clients?**\n\nOur own question, on a simulation."
    fresh.store.client.set_experiment_tag(experiment, "mlflow.note.content", note)
    results = read_results(fresh.uri)
    results = replace(results, folder=fresh.folder / "data")
    html = whole_page(page(results, settings.tables(results), fronts.figures(results)))
    assert "<b>How patient are clients?</b>: Our own question, on a simulation." in html
    assert "Li and Wang" not in html
    assert "Settings: How patient are clients?" in html
    before = inputs_hash(results)
    fresh.store.client.set_experiment_tag(experiment, "mlflow.note.content", "**A better title**")
    assert results.about("mine").title == "How patient are clients?"  # what is read stays as it was read
    assert inputs_hash(read_results(fresh.uri)) != before


def test_data_cannot_end_the_script_element():
    assert "</script>" not in in_script(json.dumps({"name": "</script><script>alert(1)</script>"}))
    assert json.loads(in_script('{"a": "<b>"}')) == {"a": "<b>"}


def test_names_are_text_and_never_markup():
    runs = [run("<img src=x onerror=alert(1)>", 2.0, experiment="<b>mine</b>", dataset="<i>data</i>")]
    results = made_up(runs)
    html = whole_page(page(results, [], fronts.figures(results)))
    assert "<img src=x" not in html
    assert "<b>mine" not in html
    assert "<i>data" not in html


def test_data_cards_have_source_licence_counts_and_differences(html: str):
    card = html[html.index('id="card-delicious-mirror"') :].partition("</article>")[0]
    for part in ("RECONSTRUCTED DATA", "made by hand", "214 of 220 published", "<dt>licence</dt>", "fingerprint"):
        assert part in card
    label = "Delicious: RECONSTRUCTED DATA (214 of 220 interactions)"
    assert f'<li id="note-1">{label}</li>' in html[html.index("<footer>") :]  # red and at the top: generated data only
    assert "DATA" not in html[: html.index("</header>")]
    assert 'class="warning">' not in card
    generated = made_up([run("async-linucb", 2.0, dataset="lastfm", source="stand-in", experiment="mine")])
    top = page(generated, [], []).partition("</header>")[0]
    assert '<p class="warning">LastFM: STAND-IN DATA (generated): not a valid result</p>' in top


def test_the_contents_have_at_most_40_links_and_settings_are_under_their_figure(html: str):
    def links(part: str) -> list[str]:
        return re.findall('href="#([^"]*)"', part.partition("<nav")[2].partition("</nav>")[0])

    names = [f"mine_{number}" for number in range(30)]
    results = made_up([run("async-linucb", gamma, experiment=name) for name in names for gamma in (2.0, math.inf)])
    figures = fronts.figures(results)
    text = page(results, settings.tables(results), figures)
    assert len(figures) == len(settings.setting_tables(results)) == 30
    assert len(links(text)) <= MAX_CONTENTS
    assert "settings" not in links(text)
    whole = whole_page(text)
    first = whole[whole.index(f'<figure id="figure-{figures[0].name}"') :].partition("</figure>")[0]
    assert f'<section class="table" id="table-settings_{figures[0].name}' in first
    assert "figure-fig_a" in links(html)


def test_the_page_has_versions_and_the_commands_to_reproduce_the_results(results: Results):
    versions = {"commit": {"abc": 15, "def-modified": 1}}
    results = Results(results.runs, results.uri, sweeps=results.sweeps, versions=versions)
    html = whole_page(page(results, [], []))
    assert "abc (15 runs), def-modified (1 runs)" in html
    assert "make benchmark PROFILE=quick" in html
    assert "The runs were made from a checkout with uncommitted changes." in html


def test_a_picture_that_cannot_be_drawn_does_not_stop_the_page(results: Results, monkeypatch: pytest.MonkeyPatch):
    (figure,) = fronts.figures(results)
    figure = replace(figure, panels=(Matrix(("one",), (), (), 1.0),))
    monkeypatch.setattr("reports.write.figure.picture_files", lambda figure: 1 / 0)
    assert "The figure could not be drawn." in whole_page(page(results, [], [figure]))
