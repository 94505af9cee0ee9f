"""Boards that are really played, on a tiny simulation."""

import os
import re
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from benchmark.board import play as playing
from benchmark.board.document import from_json, load_board
from benchmark.board.play import board_experiment, board_runs
from benchmark.board.result import evaluate
from benchmark.board.task import board_fingerprint, experiment_name
from benchmark.commands.board import board_lines, summary_lines
from benchmark.execution.local import LocalExecutor
from benchmark.execution.run_result import RunResult
from benchmark.observer import Observer
from benchmark.plan.method_names import parse_filter
from benchmark.plan.runs import Run
from benchmark.records.reader import finished_runs
from benchmark.records.tags import PROTOCOL, TASK
from benchmark.statistics.comparison import NO_COMMUNICATION, PRIMARY
from benchmark.statistics.verdicts import Verdict
from reports.read.results import read_results
from tests.benchmark.board.tiny_boards import play, small_protocol, store_in, tiny_task
from tests.benchmark.test_session import Notes

pytestmark = pytest.mark.slow

REFERENCE = small_protocol().comparison.reference
OWN = "tests.benchmark.epsilon_greedy:EpsilonGreedy"


class Counting(Observer):
    """Counts the runs that are played, and interrupts after some of them."""

    def __init__(self, interrupt_after: int = 0) -> None:
        self.played: list[str] = []
        self.notes: list[str] = []
        self.interrupt_after = interrupt_after

    def note(self, text: str) -> None:
        self.notes.append(text)

    def run_done(self, run: Run, result: RunResult, seconds: float, *, is_reused: bool) -> None:
        self.played.append(run.key)
        if len(self.played) == self.interrupt_after:
            os.kill(os.getpid(), signal.SIGINT)


@pytest.fixture
def one_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the reference lines, boards have only the baseline, so that there are few runs to record."""
    monkeypatch.setattr("benchmark.board.board.reference_filters", lambda outline: [parse_filter("random")])


def test_a_board_is_played_recorded_and_compared(
    tmp_path: Path, workers: LocalExecutor, monkeypatch: pytest.MonkeyPatch
):
    observer = Counting()
    result = play(tmp_path, workers, "sync-linucb", observer=observer)
    assert [entry.name for entry in result.contenders] == [REFERENCE, "sync-linucb"]
    assert result.scores is not None
    assert result.scores.values.shape == (4, 3, 10)
    assert set(result.comparisons["verdict"]) <= {str(verdict) for verdict in Verdict} - {"no verdict"}
    assert result.lines["random"] == dict.fromkeys(range(10), 0.0)
    assert [note.partition(": ")[2].partition(",")[0] for note in observer.notes if note.startswith("tiny")] == [
        "choosing",
        "choosing",
        "reporting",
    ]
    lines = board_lines(result)
    assert max(map(len, lines)) <= 80
    assert result.board.facts is not None
    assert {*result.board.facts.scores} > {*result.chosen, "most-seen"}
    assert {len(rows) for rows in result.board.facts.scores.values()} == {10}
    assert {*result.facts_lines()} <= {*lines}
    assert any(line.startswith("Sync-LinUCB") and "=" in line for line in lines)
    assert any(re.match(r"rank: (As|S)ync-LinUCB 1", line) for line in lines)
    assert "at most 0.3 messages per decision (9 per client)" in lines
    assert re.match(r"tiny: (As|S)ync-LinUCB 1", summary_lines([result])[1])
    store, task, protocol = store_in(tmp_path), tiny_task(), small_protocol()
    records = finished_runs(store, [experiment_name(task, protocol)])
    assert len(records) == len(observer.played) == len(result.outcomes)
    assert {record.provenance[PROTOCOL] for record in records} == {protocol.fingerprint}
    assert {record.provenance[TASK] for record in records} == {f"tiny version 1 {task.fingerprint}"}

    text = load_board(store, experiment_name(task, protocol))
    assert text is not None
    assert board_fingerprint(task, protocol) in text
    again = evaluate(*from_json(text, {record.key: record for record in records}))
    assert again.comparisons.equals(result.comparisons)
    assert again.board.facts is not None
    assert again.board.facts.to_json() == result.board.facts.to_json()

    once_more = Counting()
    with monkeypatch.context() as patch:
        patch.setattr(playing, "task_facts", None)  # they are read from the document
        assert play(tmp_path, workers, "sync-linucb", observer=once_more).comparisons.equals(result.comparisons)
    assert once_more.played == []


def test_a_row_with_fixed_values_changes_no_verdict_on_tuned_methods(workers: LocalExecutor):
    tuned = play(None, workers, "sync-linucb").comparisons
    fixed = f"{REFERENCE}[alpha=0.3]"
    both = play(None, workers, "sync-linucb", fixed).comparisons
    assert both[both["first"] != fixed].equals(tuned)
    assert REFERENCE in set(both.loc[both["first"] == fixed, "second"])


@pytest.mark.usefixtures("one_rule")
def test_a_try_does_not_replace_the_report(tmp_path: Path, workers: LocalExecutor):
    reported = play(tmp_path, workers, REFERENCE, max_configurations=1, seeds=range(20, 30))
    play(tmp_path, workers, REFERENCE, max_configurations=1)
    document = load_board(store_in(tmp_path), experiment_name(tiny_task(), small_protocol()))
    assert document is not None
    assert from_json(document, {})[0].seeds == reported.board.seeds


@pytest.mark.usefixtures("one_rule")
def test_an_interrupted_board_plays_only_what_is_missing(tmp_path: Path, workers: LocalExecutor):
    before, after = Counting(interrupt_after=5), Counting()
    stopped = play(tmp_path, workers, REFERENCE, observer=before)
    assert stopped.is_interrupted
    assert stopped.scores is None
    result = play(tmp_path, workers, REFERENCE, observer=after)
    assert not result.is_interrupted
    assert len(before.played) >= 5
    assert not {*before.played} & {*after.played}
    assert {*before.played} | {*after.played} == {outcome.key for outcome in result.outcomes.values()}


def test_an_own_class_takes_part_and_its_communication_is_declared(workers: LocalExecutor):
    result = play(None, workers, REFERENCE, OWN)
    own = next(entry for entry in result.contenders if entry.name == OWN)
    assert OWN in result.ranks[PRIMARY]
    assert "communication declared by the method, not measured" in result.notes(own)
    assert result.choice(OWN, 0.0) is None  # it cannot do without communication
    assert result.mean(OWN, 0.0) == result.mean(NO_COMMUNICATION, 0.0)  # so it is scored as this
    assert result.choice(OWN, float("inf")) is not None
    lines = board_lines(result)
    assert max(map(len, lines)) <= 80
    assert re.search(r"EpsilonGreedy\n  \(tests.be…, declared .*none: alone", "\n".join(lines))
    assert "alone: no configuration within the budget" in "\n".join(lines)


def test_failed_runs_are_named_in_their_row_and_do_not_stop_the_others(workers: LocalExecutor):
    name = "tests.benchmark.failing:First[fail_at=50]"
    result = play(None, workers, REFERENCE, name)
    assert "RuntimeError" in result.problems[name]
    assert name not in result.ranks[PRIMARY]
    assert result.mean(REFERENCE)[0] > 0
    assert (
        sum(bool(outcome.error) for outcome in result.outcomes.values()) == 1
    )  # of the first pass; a configuration that failed is not played again


@pytest.mark.usefixtures("one_rule")
def test_a_board_uses_one_code_of_each_method_and_counts_runs_by_other_code(tmp_path: Path, workers: LocalExecutor):
    first = play(tmp_path, workers, OWN, REFERENCE)
    store = store_in(tmp_path)
    experiment = board_experiment(first.board)
    (name, seed), *_ = [run for run in first.outcomes if run[0].startswith(OWN)]
    (run,) = board_runs(first.board, [(name, seed)], {}).values()
    result = store.outcome_of(first.outcomes[name, seed].run_id)
    assert result is not None
    last = max(record.ended for record in finished_runs(store, [experiment.name])) / 1000
    later = replace(result, started=last, ended=last + 0.001)
    sweep = store.begin_sweep(experiment, "board", 1)
    store.record(sweep, experiment, replace(run, code="0" * 16, key="of other code"), later)
    store.end_sweep(sweep, "FINISHED", {})
    (before,) = read_results(store.uri, tmp_path).boards
    assert before.result.lines == first.lines
    notes = Notes()
    second = play(tmp_path, workers, OWN, REFERENCE, observer=notes)
    assert {outcome.key for outcome in second.outcomes.values()} == {each.key for each in first.outcomes.values()}
    assert all(is_reused for *_, is_reused in notes.runs)
    (sentence,) = [line for line in notes.lines if "earlier code" in line]
    assert sentence.startswith("EpsilonGreedy (tests.benchmark.epsilon_greedy): 1 run by earlier code (code 0000")
