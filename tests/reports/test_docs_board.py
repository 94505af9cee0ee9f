"""docs/board.md, docs/tables, and the records that they are made from, with boards of made-up outcomes."""

import hashlib
import math
import re
from dataclasses import replace
from pathlib import Path
from textwrap import fill

import pandas as pd
import pytest

from benchmark.board.board import Outcome
from benchmark.protocol import load_protocol
from benchmark.statistics.verdicts import Verdict
from reports.analysis.board import choice_rows, score_rows, sensitivity_rows
from reports.figures import ranking
from reports.read.boards import StoredBoard
from reports.read.results import Results
from reports.tables import board as board_tables
from tests.reports.big_board import PLAYED, big_results
from tests.reports.made_up_boards import made_up_board, made_up_outcomes, made_up_stored, results_of, stored
from tests.reports.test_clipped_text import clipped
from tests.tools.board_findings import EXPECTED, expectations, found, in_short, sharing_sentence
from tests.tools.board_page import TO_COME, board_page, figures, table_pages
from tests.tools.committed import BOARD_CHOOSING, BOARD_RUNS, BOARDS, read_committed, update, write
from tests.tools.prose import words
from tests.tools.renew import DOCS, write_board

pytestmark = pytest.mark.slow

METHODS = ("async-linucb", "async-linucb-am", "fclub", "mean-linucb", "sync-linucb")
TASKS = ("lastfm-once", "delicious-matched", "simulated-clusters")
MAX_WORDS, MAX_WORDS_OF_RESULTS, MAX_BYTES = 2_500, 3_000, 15_000_000


@pytest.fixture
def results() -> Results:
    return results_of(*(made_up_stored(task, METHODS) for task in TASKS))


@pytest.fixture(autouse=True)
def _tries_are_by_protocol(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Made-up boards are on seeds for tries: those of the report are left to the full board."""
    if "committed" not in request.fixturenames:
        monkeypatch.setattr("reports.read.boards.has_shipped_protocol", lambda board: True)


@pytest.fixture(scope="module")
def committed() -> Results:
    """The results in the repository."""
    return read_committed()


def line_with(text: str, start: str) -> str:
    """Return a paragraph, or an item of a list, in one line."""
    parts = re.split(r"\n\n|\n(?=- )", text)
    return " ".join(next(part for part in parts if start in part).split())


def test_the_page_has_a_section_per_task_and_says_what_is_to_come(results: Results):
    page = board_page(results)
    protocol = load_protocol()
    assert [line[4:] for line in page.splitlines() if line.startswith("### ")] == list(TASKS)
    scope = line_with(page, "**Played:**")
    assert scope.startswith("<!-- renewed: board_scope --> **Played:** 3 of 8 tasks, on seeds 300–319, in ")
    assert "5 of 23 methods and variants on all of them; to come: *Async-LinTS*, *Async-LinTS with welcome" in scope
    to_come = [task for task in protocol.tasks if task not in TASKS]
    assert scope.endswith(f"**To come:** {', '.join(f'`{task}`' for task in to_come)}. <!-- end -->")
    assert "[[" not in page
    assert words(page) < MAX_WORDS


def test_the_sentences_in_short_have_the_numbers_of_the_verdicts(results: Results):
    sharing, budget, kind, alone, reference = in_short([board.result for board in results.boards])
    assert sharing.startswith("**Sharing pays on 2 of 3 tasks**, from a budget of 0.03 on; most on `")
    assert budget.startswith("**One method is among the first at each budget.** Most often first there, or not worse ")
    assert kind.startswith("**What to share:** where sharing pays, a method is first, or not worse, with one model on ")
    assert "clustered on 1 of 2" in kind
    assert alone.startswith("**Can a client do without the others later on?** Where sharing pays, its own model ")
    assert reference == "**No rule without a model earns more than every method** on any of 3 tasks."
    delicious = next(board.result for board in results.boards if board.result.board.task.name == "delicious-matched")
    counter = replace(delicious, lines={**delicious.lines, "most-popular": dict.fromkeys(delicious.board.seeds, 9.0)})
    assert in_short([counter])[-1] == (
        "**A rule without a model earns more than every method** on 1 of 1 task, in the mean over the budgets: "
        "`delicious-matched` (*Most popular so far*)."
    )
    first = "References that earn more than every method in that mean: *One ranking for all in hindsight* 1.450. What"
    assert found(delicious).startswith(first)


def test_a_sentence_follows_from_verdicts_alone(results: Results):
    judged = [board.result for board in results.boards]
    undecided = [replace(result, comparisons=result.comparisons.assign(verdict=Verdict.UNDECIDED)) for result in judged]
    assert sharing_sentence(undecided).startswith(
        "**Sharing is not shown to pay** on any of 3 tasks: no method is better"
    )
    assert len(in_short(undecided)) == 2  # the other one is on references
    assert "It is not shown to be better than no communication at any budget" in found(undecided[0])
    rows = {row["task"]: row["as expected"] for row in expectations(undecided)}
    assert rows["`delicious-matched`"] == "yes"
    assert {row["task"]: row["as expected"] for row in expectations(judged)}["`simulated-clusters`"] == "yes"


def test_there_is_an_expectation_of_each_task_of_the_protocol():
    assert [each.task for each in EXPECTED] == load_protocol().tasks


def test_without_enough_seeds_there_is_no_claim_on_methods():
    page = board_page(results_of(made_up_stored("lastfm-once", METHODS, 5)))
    assert "No board here has enough report seeds for a verdict." in page
    assert "5 seeds: no statement on differences (10 are needed)" in page
    assert "There are no verdicts yet." in page
    assert "| [lastfm-once](#lastfm-once) | no verdict | no verdict |" in page
    assert not re.search(r"\d [▲▼?=]", page)
    assert "Sharing pays" not in page


def test_without_boards_or_on_stand_in_data_the_page_says_that_the_board_is_to_come():
    assert board_page(results_of()) == TO_COME.read_text()
    board = made_up_stored("lastfm-once", METHODS)
    generated = replace(board, document=board.document.replace('"source":"official"', '"source":"stand-in"'))
    assert board_page(results_of(generated)) == TO_COME.read_text()


def test_rows_with_the_values_of_the_paper_are_compared_with_tuned_ones(results: Results):
    page = board_page(results)
    assert "| not tuned | " in page
    assert "| all | no row with the paper's α and λ is as good as the tuned method | otherwise in " in page


def test_the_tables_of_a_task_are_a_page_that_the_board_links_to(results: Results, tmp_path: Path):
    pages = table_pages(results)
    assert list(pages) == [f"tables/board-{task}.md" for task in TASKS]
    assert {*re.findall(r"\]\((tables/[^)]+)\)", board_page(results))} == {*pages}
    text = pages["tables/board-lastfm-once.md"]
    for subject in ("scores and ranks", "chosen configurations", "differences to the highest mean", "sensitivity"):
        assert f"## Board lastfm-once: {subject}" in text
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "board-earlier.md").write_text("of a task that is no longer in the records")
    (tmp_path / "tables" / "thresholds.md").write_text("of the paper")
    assert write_board(results, tmp_path) == ["board.md", *pages]
    names = {path.name for path in (tmp_path / "tables").iterdir()}
    assert names == {"thresholds.md", *(f"board-{task}.md" for task in TASKS)}
    pictures = set(re.findall(r"pictures/([\w.-]+)\.png", board_page(results) + "".join(pages.values())))
    assert pictures == {figure.name for figure in figures(results)}


def same_tables(first: StoredBoard, second: StoredBoard) -> bool:
    frames = (score_rows, choice_rows, sensitivity_rows)
    return all(make(first.result).round(9).equals(make(second.result).round(9)) for make in frames)


def with_failures(task: str) -> StoredBoard:
    """Return a board in which a run that chooses and one that reports have failed."""
    board = made_up_board(task, METHODS)
    outcomes = made_up_outcomes(board)
    for method, seed in (("fclub", 10000), ("sync-linucb", board.seeds[3])):
        failed = next(run for run in outcomes if run[0].startswith(method) and run[1] == seed)
        outcomes[failed] = Outcome(outcomes[failed].key, error="RuntimeError: made up")
    return stored(board, outcomes)


@pytest.mark.parametrize("task", ["lastfm-once", "simulated-clusters"])
def test_records_give_the_same_choices_verdicts_and_tables(task: str, tmp_path: Path):
    for board in (made_up_stored(task, METHODS), with_failures(task)):
        write(results_of(board), tmp_path)
        (again,) = read_committed(tmp_path).boards
        assert len(again.records) < len(board.records) / 2
        assert {record.purpose for record in again.records.values()} == {"report"}
        assert again.result.chosen == board.result.chosen
        assert again.result.comparisons.equals(board.result.comparisons)
        assert again.result.ranks == board.result.ranks
        assert same_tables(again, board)
        tables = [board_tables.tables(results_of(each)) for each in (again, board)]
        first, second = ({table.name: table.markdown() for table in part} for part in tables)
        assert first == second
    notes = str([again.result.notes(entry) for entry in again.result.contenders])
    assert "1 choosing runs failed (RuntimeError: made up)" in notes
    assert "1 report runs failed (RuntimeError: made up)" in notes


def test_an_update_adds_boards_and_replaces_those_of_the_same_task(tmp_path: Path):
    few, other = results_of(made_up_stored(TASKS[0], METHODS[:2])), results_of(made_up_stored(TASKS[1], METHODS))
    write(few, tmp_path)
    update(other, tmp_path)
    assert len(read_committed(tmp_path).boards) == 2
    update(results_of(made_up_stored(TASKS[0], METHODS)), tmp_path)
    users = pd.DataFrame({"method": ["a"], "activity": ["all"], "better": [0.6], "difference": [math.nan]})
    other.board_users[other.boards[0].experiment] = users
    update(other, tmp_path)
    again = read_committed(tmp_path)
    pd.testing.assert_frame_equal(again.board_users[other.boards[0].experiment], users, check_exact=True)
    boards = {board.result.board.task.name: board.result for board in again.boards}
    assert {*boards} == {*TASKS[:2]}
    assert boards[TASKS[0]].comparisons.equals(made_up_stored(TASKS[0], METHODS).result.comparisons)


@pytest.mark.parametrize("task", ["lastfm-once", "simulated-clusters"])
def test_a_board_that_was_played_in_parts_is_equal_to_one_that_was_played_at_once(task: str, tmp_path: Path):
    whole = made_up_stored(task, METHODS)
    write(results_of(made_up_stored(task, METHODS[:3])), tmp_path)
    update(results_of(made_up_stored(task, ("async-linucb", *METHODS[3:]))), tmp_path)
    (joined,) = read_committed(tmp_path).boards
    assert {entry.name for entry in joined.result.board.entries} == {entry.name for entry in whole.result.board.entries}
    assert {*joined.result.chosen} == {*whole.result.chosen}
    assert joined.result.ranks == whole.result.ranks
    boards = [score_rows(board.result).sort_values("method", ignore_index=True) for board in (joined, whole)]
    pd.testing.assert_frame_equal(*boards)


def test_a_board_of_other_data_replaces_the_earlier_one(tmp_path: Path):
    first, other = made_up_stored(TASKS[0], METHODS[:3]), made_up_stored(TASKS[0], ("async-linucb", *METHODS[3:]))
    write(results_of(first), tmp_path)
    keys = {key: hashlib.sha256(key.encode()).hexdigest() for key in other.records}
    document = re.sub("[0-9a-f]{64}", lambda match: keys.get(match[0], match[0]), other.document)
    records = {keys[key]: replace(record, key=keys[key]) for key, record in other.records.items()}
    update(results_of(replace(other, document=document, records=records)), tmp_path)
    (board,) = read_committed(tmp_path).boards
    assert {entry.name for entry in board.result.board.entries} == {entry.name for entry in other.result.board.entries}


def test_the_full_board_has_a_short_page_and_small_records(tmp_path: Path):
    results = big_results()
    page = board_page(results)
    assert "8 of 8 tasks" in page
    assert "23 of 23 methods and variants on all of them." in " ".join(page.split())
    assert 1_000 < words(page) <= MAX_WORDS
    short = in_short([board.result for board in results.boards])
    assert [len(fill(text, 98).splitlines()) <= 2 for text in short] == [True] * 5
    (picture, *_) = ranking.figures(results)
    assert picture.name == "board_overview"
    assert clipped(picture) == []
    write(results_of(made_up_stored(PLAYED)), tmp_path)
    size = sum((tmp_path / name).stat().st_size for name in (BOARDS, BOARD_RUNS, BOARD_CHOOSING))
    assert len(results.boards) * size < MAX_BYTES


def test_the_pages_in_the_repository_are_short():
    assert words((DOCS / "board.md").read_text()) <= MAX_WORDS
    assert words((DOCS / "results.md").read_text()) <= MAX_WORDS_OF_RESULTS


def test_the_pages_in_the_repository_are_made_from_the_records(committed: Results):
    assert (DOCS / "board.md").read_text() == board_page(committed)
    pages = table_pages(committed)
    assert {path.name for path in (DOCS / "tables").glob("board-*")} == {Path(name).name for name in pages}
    assert [name for name, text in pages.items() if (DOCS / name).read_text() != text] == []
