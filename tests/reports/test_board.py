"""The board in a report: tables, figures and page from a board that was really played."""

import math
import re
from dataclasses import replace
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

from benchmark.board.result import BoardResult, evaluate
from benchmark.board.task import experiment_name
from benchmark.charts.label_placement import spread_out
from benchmark.charts.with_matplotlib import to_matplotlib
from benchmark.commands.board import board_lines
from benchmark.execution.local import LocalExecutor
from benchmark.statistics.comparison import PRIMARY
from benchmark.statistics.verdicts import Verdict
from reports.analysis.board import (
    cell_text,
    choice_rows,
    noted_label,
    primary_text,
    score_rows,
    score_text,
    sensitivity_rows,
    summary_rows,
)
from reports.build import build
from reports.figures import board as board_figures
from reports.figures import fronts
from reports.page.answer import board_sentence, make_answer
from reports.page.effect import short
from reports.page.glossary import TERMS, linked
from reports.read.boards import StoredBoard
from reports.read.context import make_context
from reports.read.results import Results, read_results
from reports.tables import board as board_tables
from reports.tables import missing, settings
from reports.write.figure import Figure
from tests.benchmark.board.tiny_boards import play, small_protocol, store_in, tiny_task
from tests.reports.test_clipped_text import clipped, entries
from tests.reports.whole_page import whole_page
from tests.tools.committed import read_committed, write
from tests.tools.protocol_page import effect_of_choosing

REFERENCE = small_protocol().comparison.reference
FIXED = f"{REFERENCE}[alpha=0.3]"
NAME = experiment_name(tiny_task(), small_protocol())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("board")
    with LocalExecutor(2) as executor:
        play(folder, executor, "sync-linucb", FIXED, max_configurations=8)
    return folder


@pytest.fixture
def results(folder: Path) -> Results:
    return read_results(store_in(folder).uri)


@pytest.fixture
def stored(results: Results) -> StoredBoard:
    (board,) = results.boards
    return board


def test_runs_of_a_board_enter_no_other_figure_or_table(results: Results):
    context = make_context(results)
    assert results.runs.empty
    assert results.choosing > 0
    assert set(results.board_runs["seed"]) == set(range(10))
    assert fronts.figures(results, context) == []
    assert settings.tables(results, context) == []
    (sentence,) = results.left_out_sentences()
    assert sentence.startswith(f"{results.choosing} runs only served to choose settings")
    frame = missing.tables(results, context)[0].frame.set_index("experiment")
    assert frame.loc[NAME, "missing"] == "nothing"
    assert frame.loc[NAME, "finished"] == len(results.board_runs)


def test_scores_have_ranks_notes_and_reference_lines(stored: StoredBoard):
    frame = score_rows(stored.result).set_index("method")
    assert list(frame.index)[:3] == ["Async-LinUCB", "Sync-LinUCB", "Async-LinUCB (alpha=0.3)"]
    assert frame.loc["Async-LinUCB (alpha=0.3)", "rank"] == "not tuned"
    assert "not tuned: alpha=0.3 fixed" in frame.loc["Async-LinUCB (alpha=0.3)", "notes"]
    assert frame.loc["Random choice", "rank"] == "reference"
    assert frame.loc["Random choice", "mean of 2"] == 0
    assert "highest mean" in set(frame["against the best"])
    for name, budget in (("0", 0.0), ("2", 2.0), ("unlimited", math.inf), ("mean of 2", PRIMARY)):
        assert frame.loc["Async-LinUCB", name] == pytest.approx(stored.result.mean(REFERENCE, budget)[0])


def test_choices_show_the_choosing_mean_beside_the_reporting_mean(stored: StoredBoard):
    frame = choice_rows(stored.result)
    assert len(frame) == 3 * 3
    first = frame.iloc[0]
    choice = stored.result.choice(REFERENCE, 0.0)
    assert choice is not None
    assert first["choosing"] == choice.score
    assert first["reporting"] == pytest.approx(stored.result.mean(REFERENCE, 0.0)[0])
    assert first["configuration"].startswith("gamma=inf,alpha=")
    assert first["transfers per client"] == 0
    assert first["verdict"] == "identical"


def with_more_communication(result: BoardResult, name: str, budget: float, factor: float) -> BoardResult:
    """Return the same result, but a row communicates on the report seeds as much as a budget times a factor."""
    choice = result.choice(name, budget)
    assert choice is not None
    numbers = {"numbers_per_client": factor * result.board.limits[budget]}
    changed = {
        run: replace(outcome, metrics={**outcome.metrics, **numbers})
        for run, outcome in result.outcomes.items()
        if run[0] == choice.configuration and run[1] in result.board.seeds
    }
    return replace(result, outcomes={**result.outcomes, **changed})


def test_a_mean_above_the_budget_on_the_report_seeds_is_marked_everywhere(stored: StoredBoard):
    entry = next(entry for entry in stored.result.contenders if entry.name == "sync-linucb")
    within = with_more_communication(stored.result, entry.name, 2.0, 1.0)
    over = with_more_communication(stored.result, entry.name, 2.0, 1.1)
    assert "over" not in str(summary_rows([within])) + str(score_rows(within)["notes"].tolist())
    assert "!" not in "\n".join(board_lines(within))
    note = "over: 1.1 times the budget of 2 on the report seeds"
    assert f"; {note}; " in score_rows(over).set_index("method").loc[entry.label, "notes"]
    text = cell_text(over, entry, 2.0)
    assert text == f"{cell_text(within, entry, 2.0)[:-1]}; over: 1.1 times)"
    assert text in summary_rows([over])["2"].tolist()
    rows = choice_rows(over).set_index(["method", "budget"])["overruns"]
    assert rows[entry.label, "2"] == "10 of 10 seeds; over: 1.1 times"
    cells = board_figures.summary_cells([over])
    assert cells.loc[cells["text"].str.endswith("!"), ["method", "budget"]].to_numpy().tolist() == [
        [noted_label(entry), "2"]
    ]
    assert note in " ".join("\n".join(board_lines(over)).split())
    cell = f"{over.mean(entry.name, 2.0)[0]:.3f}"
    (row,) = (line for line in board_lines(over) if line.startswith("Sync-LinUCB ") and ":" not in line)
    assert re.search(rf"{cell}[-+=?]! ", row)
    assert "! over its budget on the report seeds" in board_lines(over)


def test_the_effect_of_choosing_is_that_of_tuned_rows(
    stored: StoredBoard, results: Results, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("tests.tools.protocol_page.by_protocol", lambda boards: [stored])
    rows = choice_rows(stored.result).drop_duplicates(["method", "configuration"]).set_index("method")
    tuned = rows.loc[["Async-LinUCB", "Sync-LinUCB"]]
    assert len(tuned) < len(rows)
    effect = effect_of_choosing(results, make_context(results)).iloc[0]
    assert effect["choices"] == len(tuned)
    assert effect["mean excess"] == pytest.approx((tuned["choosing"] - tuned["reporting"]).mean())


def test_sensitivity_has_a_score_for_every_alpha_and_lambda(stored: StoredBoard):
    frame = sensitivity_rows(stored.result)
    sizes = [len(entry.configurations) // len(entry.grids[entry.front]) for entry in stored.result.contenders]
    assert len(frame) == sum(sizes)
    assert frame["score"].between(-1, 1).all()
    assert {"α", "λ"} <= set(frame)


def test_the_summary_has_a_cell_per_task_method_and_budget(stored: StoredBoard):
    frame = summary_rows([stored.result])
    assert frame.loc[0, "0"].startswith("identical (0.")
    cells = board_figures.summary_cells([stored.result])
    assert len(cells) == 2 * 4  # the row that is not tuned is in the tables of the task alone
    matrix = board_figures._matrix(cells)
    symbols = [board_figures.SYMBOLS[Verdict(verdict)] for verdict in cells["verdict"]]
    assert [cell.text for _, row in matrix.rows for cell in row] == [
        f"{symbol} {text}" for symbol, text in zip(symbols, cells["text"], strict=True)
    ]
    legend = [f"{cell.text} {text}" for cell, text in matrix.legend]
    assert legend == ["▲ better", "= equivalent or identical", "? undecided", "▼ worse"]


def test_a_report_has_the_tables_figures_and_page_of_the_board(folder: Path, tmp_path: Path):
    report = build(store_in(folder).uri, out=tmp_path / "out")
    assert report.failures == ()
    names = {path.name for path in (tmp_path / "out" / "tables").iterdir()}
    for table in ("", "_choices", "_pairs", "_sensitivity"):
        assert {f"{NAME}{table}{suffix}" for suffix in (".csv", ".md", ".tex")} <= names
    pictures = {path.name for path in (tmp_path / "out" / "figures").iterdir()}
    assert {f"{NAME}_differences.svg", f"{NAME}_scores.png"} <= pictures
    page = whole_page((tmp_path / "out" / "report.html").read_text(encoding="utf-8"))
    assert "Board tiny: scores and ranks" in page
    assert "NOT THE PROTOCOL" in page
    drawn = pd.read_csv(tmp_path / "out" / "figures" / f"{NAME}_differences.csv")
    assert set(drawn["verdict"]) <= {"identical", "equivalent", "better", "worse", "undecided"}
    assert build(store_in(folder).uri, out=tmp_path / "out").is_unchanged


def test_no_text_of_the_pictures_of_a_board_is_cut(results: Results, stored: StoredBoard):
    pictures = board_figures.figures(results, make_context(results))
    pictures.append(board_figures._summary([stored], make_context(results)))
    for picture in pictures:
        assert clipped(picture) == []
        assert entries(picture) <= 8


def drawn(picture: Figure) -> tuple[Any, list[Any]]:
    """Return the axes of a picture, and the boxes of the names of its lines."""
    canvas = to_matplotlib(picture)
    renderer = FigureCanvasAgg(canvas).get_renderer()
    canvas.draw(renderer)
    (axes,) = canvas.axes
    names = [text for text in axes.texts if text.get_gid() == "line-name"]
    return axes, [Text.get_window_extent(name, renderer) for name in names]


def pictures_of_values(results: Results) -> list[Figure]:
    return [each for each in board_figures.figures(results, make_context(results)) if each.interactive is not None]


def test_names_of_lines_are_beside_the_plot_where_nothing_crosses_them(results: Results):
    for picture in pictures_of_values(results):
        axes, names = drawn(picture)
        assert len(names) >= 3
        assert all(name.x0 > axes.bbox.x1 for name in names)
        heights = sorted((name.y0, name.y1) for name in names)
        assert all(first[1] <= second[0] for first, second in pairwise(heights))
        notes = picture.interactive["layout"]["annotations"]
        assert len(notes) == len(names)
        assert {(note["xref"], note["x"], note["xanchor"]) for note in notes} == {("x domain", 1, "left")}
        assert picture.interactive["phone"] == []
        assert picture.interactive["layout"]["margin"]["r"] > 6 * max(len(note["text"]) for note in notes)


def test_no_line_is_on_the_edge_of_a_plot(results: Results):
    for picture in pictures_of_values(results):
        (panel,) = picture.plain_panels
        bottom, top = panel.y.range
        levels = [level.value for level in panel.levels if level.line == "--"]
        assert levels
        assert bottom + 0.03 * (top - bottom) < min(levels)
        assert max(levels) < top - 0.03 * (top - bottom)
        assert picture.interactive["layout"]["yaxis"]["range"] == [bottom, top]


def test_the_band_of_equivalence_and_the_references_are_in_the_legend(results: Results):
    differences, scores = pictures_of_values(results)
    texts = [item.label for item in differences.legend()]
    (band,) = [text for text in texts if text.startswith("equivalent to no communication (±")]
    assert "references, not ranked" in texts
    (level,) = [level for level in differences.plain_panels[0].levels if level.band]
    assert level.label == band
    assert band in [trace["name"] for trace in differences.interactive["data"] if trace["showlegend"]]
    assert f"The grey band is the margin of equivalence, {band.partition('(')[2].rstrip(')')}" in differences.caption
    assert not any(level.band for level in scores.plain_panels[0].levels)
    assert "with their scores: " in scores.short_caption


@pytest.mark.parametrize(
    ("levels", "heights"),
    [
        ([1.0, 5.0], [1.0, 5.0]),
        ([5.0, 5.0], [4.5, 5.5]),
        ([5.0, 5.2, 5.4, 9.0], [4.2, 5.2, 6.2, 9.0]),
        ([0.0, 0.0, 0.0], [0.5, 1.5, 2.5]),
        ([9.9, 10.0], [8.5, 9.5]),
    ],
)
def test_names_are_as_near_to_their_lines_as_possible(levels: list[float], heights: list[float]):
    names = dict(zip("abcd", levels, strict=False))
    assert spread_out(names, 1.0, 0.0, 10.0) == pytest.approx(dict(zip("abcd", heights, strict=False)))


def test_the_page_answers_from_the_board(results: Results, stored: StoredBoard):
    answer = make_answer(results, make_context(results))
    assert answer is not None
    (group,) = answer.groups
    assert "NOT THE PROTOCOL" in group.labels[-1]
    assert "has the highest mean score over the budgets" in group.sentence
    assert answer.headings == ("0", "2", "unlimited", "mean of 2")
    (name, cells), *_ = group.rows
    assert name.startswith("Async-LinUCB (8 of ")  # configurations
    assert cells[0].verdict == "identical"
    assert sum(cells[-1].is_best for _, cells in group.rows) == 1


def test_the_sentence_of_a_board_names_the_best_reference_line_above_every_method(stored: StoredBoard):
    result = stored.result
    first, second = (result.board.entries[0], result.board.entries[1])  # any two rows serve as lines

    def sentence(one: float, other: float) -> str:
        lines = {
            name: dict.fromkeys(result.board.seeds, score) for name, score in ((first.name, one), (second.name, other))
        }
        return board_sentence(replace(result, lines=lines))

    assert sentence(1.1, 2.5).startswith(f"The reference “{second.label}” earns more than every method: 2.500. ")
    assert sentence(1.1, -1.0).startswith(f"The reference “{first.label}” earns more than every method: 1.100. ")
    assert "earns more" not in sentence(-1.0, -1.0)


def test_a_board_with_too_few_seeds_makes_no_statement_on_differences(stored: StoredBoard):
    board = replace(stored.result.board, seeds=(0, 1, 2))
    lines = {stored.result.board.entries[0].name: dict.fromkeys(board.seeds, 2.5)}
    few = replace(evaluate(board, stored.result.outcomes), lines=lines)
    text = board_sentence(few)
    assert text.endswith(". 3 seeds: no statement on differences (10 are needed).")
    assert [word for word in ("better", "not ", "rank", "earns more") if word in text] == []
    assert [note for entry in few.contenders for note in few.notes(entry) if note.startswith("below")] == []


def test_the_sentence_of_a_board_has_the_verdict_at_every_budget(stored: StoredBoard):
    text = board_sentence(stored.result)
    _, _, against = text.partition("Compared with no communication it is ")
    verdicts = [str(stored.result.verdict(stored.result.best, budget)) for budget in stored.result.budgets]
    assert {part.partition(" at ")[0] for part in against.rstrip(".").split("; ")} == {*verdicts}


def test_equal_scores_have_the_same_text_everywhere(stored: StoredBoard):
    assert score_text(3.6855) == score_text(3.6855 + 1e-13) == score_text(3.6855 - 1e-13)
    entry = stored.result.contenders[0]
    assert score_text(stored.result.mean(entry.name, 0.0)[0]) in cell_text(stored.result, entry, 0.0)


def test_the_first_words_of_the_page_are_explained_where_they_are_used(results: Results):
    answer = make_answer(results, make_context(results))
    assert answer is not None
    text = linked(answer.introduction)
    verdicts = {str(verdict) for verdict in Verdict if verdict != Verdict.NONE}
    for word in ("score", "budget", "no communication", *verdicts):
        (meaning,) = [term.meaning for term in TERMS if term.name == word]
        assert f'title="{escape(meaning)}">' in text, word
    assert f"the {answer.headings[-1]};" in answer.note


def test_the_mean_over_the_budgets_has_one_name_everywhere(results: Results, stored: StoredBoard):
    assert primary_text((2.0, 10.0, 100.0, 1000.0)) == "mean of 2 to 1,000"
    assert "mean of 2 to 1,000" in {term.name for term in TERMS}
    tables = board_tables.tables(results, make_context(results))
    tables.append(board_tables._summary([stored]))
    pictures = board_figures.figures(results, make_context(results))
    pictures.append(board_figures._summary([stored], make_context(results)))
    texts = [table.markdown() for table in tables] + [picture.caption for picture in pictures]
    assert [text for text in texts if "primary" in text.lower()] == []
    assert sum("| mean of 2 |" in table.markdown() for table in tables) == 3  # summary, scores, pairs
    cells = board_figures.summary_cells([stored.result])
    assert cells["budget"].iloc[-1] == "mean of 2"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.1, "1.10"),
        (0.05, "0.0500"),
        (12.0, "12.0"),
        (99.96, "100"),
        (105.0, "105"),
        (999.7, "1,000"),
        (1005.0, "1,005"),
    ],
)
def test_scores_have_three_digits(value: float, text: str):
    assert short(value) == text


def test_a_board_with_another_protocol_is_not_in_the_summary(results: Results):
    tables = [table.name for table in board_tables.tables(results, make_context(results))]
    assert "board_summary" not in tables
    assert any(
        "NOT THE PROTOCOL" in note
        for table in board_tables.tables(results, make_context(results))
        for note in table.notes
    )


def test_the_tables_of_a_board_can_be_rebuilt_from_its_records_without_the_store(results: Results, tmp_path: Path):
    context = make_context(results)
    write(results, context, tmp_path)
    again, about = read_committed(tmp_path)
    expected = {table.name: table.markdown() for table in board_tables.tables(results, context)}
    assert f"{NAME}_choices" in expected
    assert {table.name: table.markdown() for table in board_tables.tables(again, about)} == expected


def test_rows_of_an_earlier_version_of_a_method_are_marked():
    results, _ = read_committed()
    rows = [entry for board in results.boards for entry in board.result.contenders]
    assert rows
    for entry in rows:
        assert ("version 1, order corrected since" in noted_label(entry)) == (entry.method == "async-linucb-am")
