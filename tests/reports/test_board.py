"""The board in a report: tables, figures and page from a board that was really played."""

import math
import re
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from benchmark.board.result import BoardResult, evaluate
from benchmark.board.task import experiment_name
from benchmark.commands.board import board_lines
from benchmark.execution.local import LocalExecutor
from benchmark.statistics.comparison import NO_COMMUNICATION, PRIMARY
from benchmark.statistics.verdicts import Verdict
from data_pipelines.data_label import STAND_IN
from reports.analysis.board import (
    cell_text,
    choice_rows,
    columns_of,
    noted_label,
    ranked_entries,
    score_rows,
    score_text,
    summary_rows,
)
from reports.build import build
from reports.figures import board as board_figures
from reports.figures import decisions, fronts, ranking
from reports.page.answer import board_sentence, make_answer
from reports.read.boards import StoredBoard
from reports.read.results import Results, read_results
from reports.tables import missing, settings
from reports.tables.board import paper_scores
from tests.benchmark.board.tiny_boards import play, small_protocol, store_in, tiny_task
from tests.reports.test_clipped_text import clipped, entries
from tests.reports.whole_page import whole_page

pytestmark = pytest.mark.slow

REFERENCE = small_protocol().comparison.reference
FIXED = f"{REFERENCE}[alpha=0.3]"
NAME = experiment_name(tiny_task(), small_protocol())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, workers: LocalExecutor) -> Path:
    folder = tmp_path_factory.mktemp("board")
    play(folder, workers, "sync-linucb", FIXED, max_configurations=8)
    return folder


@pytest.fixture(scope="module")
def results(folder: Path) -> Results:
    return read_results(store_in(folder).uri, folder / "data")


@pytest.fixture(scope="module")
def stored(results: Results) -> StoredBoard:
    (board,) = results.boards
    return board


def test_runs_of_a_board_enter_no_other_figure_or_table(results: Results):
    assert results.runs.empty
    assert results.choosing > 0
    assert set(results.board_runs["seed"]) == set(range(10))
    assert fronts.figures(results) == []
    assert settings.tables(results) == []
    (sentence,) = results.left_out_sentences()
    assert sentence.startswith(f"{results.choosing} runs only served to choose settings")
    frame = missing.tables(results)[0].frame.set_index("experiment")
    assert frame.loc[NAME, "missing"] == "nothing"
    assert frame.loc[NAME, "finished"] == len(results.board_runs)


def test_scores_have_ranks_notes_and_reference_lines(stored: StoredBoard):
    frame = score_rows(stored.result).set_index("method")
    assert list(frame.index)[:3] == ["Async-LinUCB", "Sync-LinUCB", "Async-LinUCB (alpha=0.3)"]
    assert frame.loc["Async-LinUCB (alpha=0.3)", "rank"] == "not tuned"
    assert "not tuned: alpha=0.3 fixed" in frame.loc["Async-LinUCB (alpha=0.3)", "notes"]
    assert frame.loc["Random choice", "rank"] == "reference"
    assert frame.loc["Random choice", "mean of 0.3"] == 0
    assert "highest mean" in set(frame["against the best"])
    for name, budget in (("0", 0.0), ("0.3", 0.3), ("unlimited", math.inf), ("mean of 0.3", PRIMARY)):
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
    assert (first["messages per decision"], first["messages per client"], first["sent per client"]) == (0, 0, 0)
    shared = frame[frame["budget"] == "unlimited"].iloc[0]
    assert shared["messages per client"] == pytest.approx(shared["messages per decision"] * 300 / 10)
    assert shared["sent per client"] >= shared["messages per client"]
    assert first["verdict"] == "identical"


def with_more_communication(result: BoardResult, name: str, budget: float, factor: float) -> BoardResult:
    """Return the same result, but a row communicates on the report seeds as much as a budget times a factor."""
    choice = result.choice(name, budget)
    assert choice is not None
    numbers = {"needed_per_decision": factor * budget}
    changed = {
        run: replace(outcome, metrics={**outcome.metrics, **numbers})
        for run, outcome in result.outcomes.items()
        if run[0] == choice.configuration and run[1] in result.board.seeds
    }
    return replace(result, outcomes={**result.outcomes, **changed})


def test_a_mean_above_the_budget_on_the_report_seeds_is_marked_everywhere(stored: StoredBoard):
    entry = next(entry for entry in stored.result.contenders if entry.name == "sync-linucb")
    within = with_more_communication(stored.result, entry.name, 0.3, 1.0)
    over = with_more_communication(stored.result, entry.name, 0.3, 1.1)
    assert "over" not in str(summary_rows([within])) + str(score_rows(within)["notes"].tolist())
    assert "!" not in "\n".join(board_lines(within))
    note = "over: 1.1 times the budget of 0.3 on the report seeds"
    assert f"; {note}; " in score_rows(over).set_index("method").loc[entry.label, "notes"]
    text = cell_text(over, entry, 0.3)
    assert text == f"{cell_text(within, entry, 0.3)[:-1]}; over: 1.1 times)"
    assert text in summary_rows([over])["0.3"].tolist()
    rows = choice_rows(over).set_index(["method", "budget"])["overruns"]
    assert rows[entry.label, "0.3"] == "10 of 10 seeds; over: 1.1 times"
    cells = ranking.overview_rows([over]).set_index("method")["budgets"]
    assert {name: "!" in symbols for name, symbols in cells.items()} == {
        noted_label(each): each is entry for each in ranked_entries(over)
    }
    assert note in " ".join("\n".join(board_lines(over)).split())
    cell = f"{over.mean(entry.name, 0.3)[0]:.3f}"
    row = next(line for line in board_lines(over) if line.startswith("Sync-LinUCB "))
    assert re.search(rf"{cell}[-+=?]! ", row)
    assert "! over its budget on these seeds" in board_lines(over)
    assert any(line.startswith("Sync-LinUCB ") and " 0.33! " in line for line in board_lines(over))


def test_the_scores_in_latex_for_a_paper_have_the_highest_means_in_bold_and_the_label_of_the_data(stored: StoredBoard):
    result = stored.result
    text = paper_scores(result, STAND_IN)
    assert f"per decision). {STAND_IN}.}}" in text
    rows = [line for line in text.splitlines() if line.startswith(r"\addlinespace")]
    for place, column in enumerate(columns_of(result), start=1):
        means = [score_text(result.mean(entry.name, column)[0]) for entry in result.contenders]
        expected = [rf"\textbf{{{mean}}}" if mean == max(means, key=float) else mean for mean in means]
        cells = [row.removesuffix(r" \\").split(" & ")[place] for row in rows]
        assert [cell.replace("$-$", "-") for cell in cells] == expected
    mean, low, high = result.mean(REFERENCE, 0.0)
    assert rf"{mean:.3f}" in rows[0]
    assert rf"\scriptsize $\pm${(high - low) / 2:.3f}" in text
    for part in (
        "over 10 seeds (0--9)",
        "over the budgets 0.3.",
        "not tuned: alpha=0.3 fixed: Async-LinUCB (alpha=0.3).",
    ):
        assert part in text
    assert "Random choice 0.000" in text
    assert "NOT THE PROTOCOL" in text
    assert "No verdicts" not in text


def test_the_note_for_a_paper_explains_marks_and_says_what_few_seeds_do_not_show(stored: StoredBoard):
    over = paper_scores(with_more_communication(stored.result, "sync-linucb", 0.3, 1.1), "")
    assert f"{stored.result.mean('sync-linucb', 0.3)[0]:.3f}!" in over.replace("}!", "!")
    assert "!: over the budget on these seeds." in over
    assert "!: over" not in paper_scores(stored.result, "")
    choices = dict.fromkeys(stored.result.budgets)
    selection = replace(stored.result.selections["sync-linucb"], choices=choices)
    alone = replace(stored.result, selections={**stored.result.selections, "sync-linucb": selection})
    assert paper_scores(alone, "").count("none: alone: no configuration within the budget") == 1
    assert paper_scores(alone, "").count(r"\scriptsize alone") == 3
    few = evaluate(replace(stored.result.board, seeds=(0, 1)), stored.result.outcomes)
    text = paper_scores(few, "")
    assert "over 2 seeds (0, 1): no interval. " in text
    assert "No verdicts: they need at least 10 seeds." in text
    assert r"\scriptsize $" not in text


def test_the_overview_has_a_cell_per_method_and_task_with_a_symbol_per_budget(results: Results, stored: StoredBoard):
    frame = summary_rows([stored.result])
    assert frame.loc[0, "0"].startswith("identical (0.")
    rows = ranking.overview_rows([stored.result])
    assert len(rows) == 2  # the row that is not tuned is in the tables of the task alone
    assert [len(symbols) for symbols in rows["budgets"]] == [len(stored.result.budgets)] * 2
    (matrix,) = ranking.overview([stored], results).panels
    assert [text for text, cells in matrix.rows if not cells] == ["one model"]
    for (_, cells), row in zip((line for line in matrix.rows if line[1]), rows.to_dict("records"), strict=True):
        assert [cell.text for cell in cells] == [score_text(row["score"])]
        assert ["".join(part.text for part in cell.parts) for cell in cells] == [row["budgets"]]
        assert [cell.colour for cell in cells] == [board_figures.LOOKS[Verdict(row["verdict"])].colour]
    legend = [f"{cell.text} {text}" for cell, text in matrix.legend]
    assert legend == ["▲ better", "= equivalent or identical", "? undecided", "▼ worse"]


def test_the_ranking_has_all_methods_and_references_by_their_difference(stored: StoredBoard):
    rows = ranking.ranking_rows(stored.result).set_index("method")
    assert list(rows["difference"]) == sorted(rows["difference"], reverse=True)
    row = stored.result.difference("sync-linucb", NO_COMMUNICATION, PRIMARY)
    assert rows.loc["Sync-LinUCB", ["difference", "low", "high"]].tolist() == [
        row["difference"],
        row["low"],
        row["high"],
    ]
    assert rows.loc["Async-LinUCB (alpha=0.3)", "kind"] == "not tuned"
    assert {*rows.index} >= {entry.label for entry in stored.result.references}
    assert rows.loc["Sync-LinUCB", "is_drawn"]


def test_a_report_has_the_tables_figures_and_page_of_the_board(folder: Path, tmp_path: Path, stored: StoredBoard):
    report = build(store_in(folder).uri, out=tmp_path / "out")
    assert report.failures == ()
    names = {path.name for path in (tmp_path / "out" / "tables").iterdir()}
    for table in ("", "_choices", "_pairs", "_sensitivity"):
        assert {f"{NAME}{table}{suffix}" for suffix in (".csv", ".md", ".tex")} <= names
    assert (tmp_path / "out" / "tables" / f"{NAME}.tex").read_text() == paper_scores(stored.result, "")
    pictures = {path.name for path in (tmp_path / "out" / "figures").iterdir()}
    assert {f"{NAME}_differences.svg", f"{NAME}_scores.png", f"{NAME}_decisions.png"} <= pictures
    page, board_page = (
        whole_page((tmp_path / "out" / name).read_text(encoding="utf-8")) for name in ("report.html", "board.html")
    )
    assert '<a href="board.html">' in page
    assert "Board tiny: scores and ranks" not in page
    assert "Board tiny: scores and ranks" in board_page
    assert "NOT THE PROTOCOL" in page
    assert "NOT THE PROTOCOL" in board_page
    drawn = pd.read_csv(tmp_path / "out" / "figures" / f"{NAME}_differences.csv")
    assert set(drawn["verdict"]) <= {"identical", "equivalent", "better", "worse", "undecided"}
    assert build(store_in(folder).uri, out=tmp_path / "out").is_unchanged


def test_no_text_of_the_pictures_of_a_board_is_cut(results: Results, stored: StoredBoard):
    pictures = [*board_figures.figures(results), *ranking.figures(results), *decisions.figures(results)]
    pictures.append(ranking.overview([stored], results))
    for picture in pictures:
        assert clipped(picture) == []
        assert entries(picture) <= 8


def test_the_page_answers_from_the_board(results: Results, stored: StoredBoard):
    answer = make_answer(results)
    assert answer is not None
    (group,) = answer.groups
    assert "NOT THE PROTOCOL" in group.labels[-1]
    assert "has the highest mean score over the budgets" in group.sentence
    assert answer.headings == ("0", "0.3", "unlimited", "mean of 0.3")
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
    _, _, against = board_sentence(result).partition("Compared with no communication it is ")
    verdicts = {str(result.verdict(result.best, budget)) for budget in result.budgets}
    assert {part.partition(" at ")[0] for part in against.rstrip(".").split("; ")} == verdicts


def test_a_board_with_too_few_seeds_makes_no_statement_on_differences(stored: StoredBoard):
    board = replace(stored.result.board, seeds=(0, 1, 2))
    lines = {stored.result.board.entries[0].name: dict.fromkeys(board.seeds, 2.5)}
    few = replace(evaluate(board, stored.result.outcomes), lines=lines)
    text = board_sentence(few)
    assert text == "3 seeds: no statement on differences (10 are needed)."
    assert [note for entry in few.contenders for note in few.notes(entry) if note.startswith("below")] == []
