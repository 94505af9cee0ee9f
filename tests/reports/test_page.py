"""The content of report.html, without a browser."""

import gzip
import json
import re
from base64 import b64decode
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from benchmark.charts.chart import Matrix
from data_pipelines.data_label import DataKind
from reports.figures import fronts, users
from reports.page.glossary import TERMS, linked, terms_used
from reports.page.page import in_script, packed, packed_json, page, plotly_script, write_page
from reports.page.sections import data_cards, headline, make_sections
from reports.read.context import Context, make_context
from reports.read.inputs import inputs_hash
from reports.read.results import Results, read_results
from reports.subjects import BOUNDS, FURTHER, MISSING, Subject
from reports.tables import bounds, missing, settings
from reports.write.table import Table
from tests.reports.hand_made import HandMade, write_data, write_user_groups
from tests.reports.made_up import made_up, run
from tests.reports.whole_page import unpacked, whole_page


@pytest.fixture(scope="module")
def text(hand_made: HandMade) -> str:
    results = read_results(hand_made.uri)
    context = make_context(results, hand_made.folder / "data")
    figures = [*fronts.figures(results, context), *users.figures(results, context)]
    return page(results, context, missing.tables(results, context), figures)


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


def test_plotly_is_compressed_inside_the_page(text: str):
    assert unpacked(text, "plotly") == plotly_script()
    assert len(text) < 0.5 * len(plotly_script())


def test_the_same_text_is_compressed_to_the_same_bytes():
    assert packed("text") == packed("text")
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
    assert html.index('id="answer"') < html.index("<figure") < html.index("Missing runs and data</h2>")
    answer = html[html.index('<table class="answer">') :].partition("</table>")[0]
    text = re.sub(r"<[^>]*>", "", answer)
    assert "2 seeds: no statement on differences (10 are needed). The best mean is 1,005 without communication" in text
    assert "(Async-LinUCB γ=∞) and 105 with it (Sync-LinUCB D=0.1, 210 transfers per client)." in text
    assert "changes little" not in text
    rows = re.findall(r'<tr><th scope="row">(.*?)</tr>', answer, re.DOTALL)
    cells = {
        row.partition("<")[0]: [re.sub(r"<[^>]*>", "", cell) for cell in re.findall(r"<span>(.*?)</span></td>", row)]
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


def test_words_that_a_page_does_not_use_are_not_defined(html: str):
    words, _, rest = html.partition('<dl class="terms">')[2].partition("</dl>")
    text = html.partition('<dl class="terms">')[0] + rest
    assert [f'id="{term.anchor}"' in words for term in TERMS] == [term in terms_used(text) for term in TERMS]
    assert "term-reconstructed-data" in words
    assert not {"term-mechanical", "term-equivalent", "term-from-the-package"} & set(re.findall(r'id="([^"]*)"', words))


@pytest.mark.parametrize("label", DataKind)
def test_every_label_of_data_has_a_definition(label: str):
    assert [term.name for term in terms_used(f"<p>lastfm: {label} (some)</p>")] == [label]


def test_commands_and_code_are_no_words_of_a_page():
    assert terms_used("<p title='seed'><code>fedbandit board</code></p><pre>client</pre><style>.seed {}</style>") == []
    assert [term.name for term in terms_used("<p>Boards &amp; γ: higher is better</p>")] == ["threshold", "board"]
    assert [term.name for term in terms_used('<td data-verdict="better">▲</td>')] == ["better"]


def test_only_the_answer_the_fronts_and_the_comparisons_are_unfolded(html: str):
    unfolded = re.findall(r'<section class="part" id="([^"]*)"', html)
    assert unfolded == ["answer", "reward-against-communication"]
    assert "users-by-activity" in re.findall(r'<details class="part" id="([^"]*)"', html)


def test_own_experiments_show_their_title_and_description(fresh: HandMade):
    fresh.run("mine", "async-linucb", 2.0, 0, regret=10.0, communication=5.0)
    experiment = fresh.experiment("mine")
    note = "**How patient are clients?**\n\nOur own question, on a simulation."
    fresh.store.client.set_experiment_tag(experiment, "mlflow.note.content", note)
    results = read_results(fresh.uri)
    context = make_context(results, fresh.folder / "data")
    html = whole_page(page(results, context, settings.tables(results, context), fronts.figures(results, context)))
    assert "<b>How patient are clients?</b>: Our own question, on a simulation." in html
    assert "Li and Wang" not in html
    assert "Settings: How patient are clients?" in html
    before = inputs_hash(results, context)
    fresh.store.client.set_experiment_tag(experiment, "mlflow.note.content", "**A better title**")
    assert results.about("mine").title == "How patient are clients?"  # what is read stays as it was read
    assert inputs_hash(read_results(fresh.uri), context) != before


def test_data_cannot_end_the_script_element():
    assert "</script>" not in in_script(json.dumps({"name": "</script><script>alert(1)</script>"}))
    assert json.loads(in_script('{"a": "<b>"}')) == {"a": "<b>"}


def test_a_card_of_generated_data_has_nothing_of_the_real_ones(fresh: HandMade):
    manifest = write_data(fresh.folder / "data", "delicious", source="stand-in", published=214)
    write_user_groups(fresh, manifest, seeds=1)
    results = read_results(fresh.uri, fresh.folder / "data")
    (card,) = data_cards(results, make_context(results, fresh.folder / "data"))
    entries = dict(card.entries)
    assert entries["source"].startswith("generated")
    assert not {"licence", "citation", "differences", "verified", "fingerprint"} & {*entries}
    assert card.label.startswith("STAND-IN DATA")


def test_the_head_has_the_number_of_seeds_of_each_stream():
    runs = [run("async-linucb", 2.0, seed, experiment="mine", dataset="two") for seed in (0, 1)]
    results, _ = made_up([*runs, run("async-linucb", 2.0, 7, experiment="mine", dataset="one")])
    assert headline(results)[-1] == ("1 to 2", "seeds")
    assert headline(made_up(runs[:1])[0])[-1] == ("1", "seed")


def test_code_in_captions_is_set_as_code(results: Results, context: Context):
    (figure,) = fronts.figures(results, context)
    figure = replace(figure, short_caption="run `fedbandit <board>`")
    table = Table("mine", "Mine", "see `fedbandit run`", pd.DataFrame({"a": [1]}), ("note `x`",))
    html = whole_page(page(results, context, [table], [figure]))
    for text in ("run <code>fedbandit &lt;board&gt;</code>", "see <code>fedbandit run</code>", "note <code>x</code>"):
        assert text in html
    assert "`" not in re.sub(r"<(style|script)\b.*?</\1>", "", html, flags=re.DOTALL)


def test_names_are_text_and_never_markup():
    runs = [run("<img src=x onerror=alert(1)>", 2.0, experiment="<b>mine</b>", dataset="<i>data</i>")]
    results, context = made_up(runs)
    html = whole_page(page(results, context, [], fronts.figures(results, context)))
    assert "<img src=x" not in html
    assert "<b>mine" not in html
    assert "<i>data" not in html


def test_data_cards_have_source_licence_counts_and_differences(html: str):
    card = html[html.index('id="card-delicious-mirror"') :].partition("</article>")[0]
    for part in ("RECONSTRUCTED DATA", "made by hand", "214 of 220 published", "<dt>licence</dt>", "fingerprint"):
        assert part in card


def test_warnings_are_at_the_top(html: str):
    header = html[: html.index("</header>")]
    assert "RECONSTRUCTED DATA (214 of 220 interactions)" in header


def test_missing_experiments_are_listed(html: str):
    assert "experiment not run" in html


def test_the_page_has_versions_and_the_commands_to_reproduce_the_results(results: Results, context: Context):
    versions = {"commit": {"abc": 15, "def-modified": 1}}
    results = Results(results.runs, results.uri, results.sweeps, versions=versions)
    html = whole_page(page(results, context, [], []))
    assert "abc (15 runs), def-modified (1 runs)" in html
    assert "make benchmark PROFILE=quick" in html
    assert "The runs were made from a checkout with uncommitted changes." in html


def test_figures_and_tables_are_in_the_section_of_their_subject(results: Results, context: Context):
    figures = [*fronts.figures(results, context), *users.figures(results, context)]
    subjects = {"bounds_x": BOUNDS, "failed": MISSING, "mine": Subject("Mine"), "plain": FURTHER}
    tables = [Table(name, name, "", results.runs[["seed"]], subject=subject) for name, subject in subjects.items()]
    sections = {section.title: section for section in make_sections(results, context, tables, figures)}
    assert [table.name for table in sections["Mine"].tables] == ["mine"]
    assert [figure.name for _, figure in sections["Reward against communication"].tabs] == ["fig_a"]
    assert [figure.name for figure in sections["Users by activity"].figures] == [
        "user_groups_delicious",
        "users_delicious",
    ]
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
    figures = {figure.name: section.title for section in sections for _, figure in section.tabs}
    assert figures == {experiment: "Reward against communication"}
    names = {table.name: section.title for section in sections for table in section.tables}
    assert names == {
        f"settings_{experiment}_own": "Settings",
        "bounds": "Bounds",
        f"bounds_{experiment}_own": "Bounds",
    }


def test_the_page_says_first_if_runs_are_missing(results: Results, context: Context):
    def is_said(*missing: str) -> bool:
        table = Table("missing", "Missing runs and data", "", pd.DataFrame({"missing": missing}), subject=MISSING)
        header = page(results, context, [table], []).partition("</header>")[0]
        return "Some runs or data are missing." in header

    assert not is_said("nothing", "experiment not run")
    assert is_said("nothing", "seed 3")
    assert not is_said("nothing", "unknown: this experiment is not part of the package")


def test_interactive_figures_have_no_picture_in_the_page(
    results: Results, context: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (figure,) = fronts.figures(results, context)
    monkeypatch.setattr("reports.write.figure.picture_files", lambda figure: pytest.fail("drawn again"))
    write_page(tmp_path / "report.html", results, context, [], [figure])
    html = whole_page((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert "data:image" not in html
    assert "figures/fig_a.png" in html


def test_a_picture_that_cannot_be_drawn_does_not_stop_the_page(
    results: Results, context: Context, monkeypatch: pytest.MonkeyPatch
):
    (figure,) = fronts.figures(results, context)
    figure = replace(figure, panels=(Matrix(("one",), (), (), 1.0),))
    monkeypatch.setattr("reports.write.figure.picture_files", lambda figure: 1 / 0)
    assert "The figure could not be drawn." in whole_page(page(results, context, [], [figure]))


def test_a_table_replaces_the_picture_of_the_same_name(results: Results, context: Context):
    (figure,) = fronts.figures(results, context)
    figure = replace(figure, panels=(Matrix(("one",), (), (), 1.0),), name="claims", on_page={})
    table = Table("claims", "Claims", "", pd.DataFrame({"verdict": ["reproduced", "undecided: at 5 %"]}))
    html = whole_page(page(results, context, [table], [figure]))
    assert "figure-claims" not in html
    assert 'data-verdict="reproduced">reproduced</td>' in html
    assert 'data-verdict="undecided">undecided: at 5 %</td>' in html
