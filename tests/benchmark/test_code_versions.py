"""Runs by different code of a method never share a mean: the newest code is shown, and the others are counted."""

import importlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from benchmark import session
from benchmark.plan.experiment import Experiment, ExperimentInfo
from benchmark.plan.method_names import parse_filter
from benchmark.plan.plan import Plan, RunOptions, make_plan
from benchmark.plan.runs import Run, repeated_sentences, settings_of, unfinished
from benchmark.records.reader import finished_runs, read_aggregates
from benchmark.records.record import RunRecord, record_of
from benchmark.records.store import Store
from benchmark.results.stored import exported, results
from benchmark.ui.pages import update_pages
from reports.read.results import read_results
from reports.tables import missing
from tests.benchmark.recorded import result_of, store_in, tiny
from tests.benchmark.test_session import Unused
from tests.benchmark.tiny_sweeps import unloaded

NAME = "edited:Edited"
LABEL = "Edited (edited)"
CLASS = """
from algorithms import Transfers
import beside_edited

class Edited:
    def choose(self, client, contexts, rng):
        return 0
    def learn(self, client, context, reward):
        return Transfers()
"""
SYNC = "sync-linucb"


@dataclass
class Folder:
    """A user's folder with a class, an experiment and a store; every recorded run ends a second after the last one."""

    path: Path
    experiment: Experiment
    store: Store
    times: Iterator[int] = field(default_factory=lambda: count(1_700_000_000))

    def edit(self, text: str, file: str = "edited.py") -> None:
        (self.path / file).write_text(text)

    def runs(self, *seeds: int) -> list[Run]:
        plan = make_plan([self.experiment], RunOptions(seeds=seeds, methods=(parse_filter(NAME),)))
        return [run for run in plan.runs if run.info.name == NAME]

    def record(self, runs: list[Run], experiment: ExperimentInfo | None = None, **metrics: float) -> None:
        experiment = experiment or self.experiment.info
        sweep = self.store.begin_sweep(experiment, "quick", len(runs))
        for run in runs:
            now = next(self.times)
            result = replace(result_of(run, metrics), started=now - 1.0, ended=float(now))
            self.store.record(sweep, experiment, run, result)
        self.store.end_sweep(sweep, "FINISHED", {})

    def finished(self) -> list[RunRecord]:
        return finished_runs(self.store, [self.experiment.name])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Folder]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    user = Folder(tmp_path, tiny(tmp_path), store_in(tmp_path))
    user.edit("", "beside_edited.py")
    user.edit(CLASS)
    importlib.invalidate_caches()
    with unloaded(tmp_path):
        yield user


@pytest.fixture
def edited(folder: Folder) -> Folder:
    """Three seeds with a regret of 30, then the class is edited, then one seed with a regret of 700."""
    folder.record(folder.runs(0, 1, 2), regret=30.0)
    folder.edit(CLASS + "# edited\n")
    folder.record(folder.runs(0), regret=700.0)
    return folder


def is_on_three_runs_left_out(sentences: Any) -> bool:
    texts = [text for text in sentences if text.startswith(f"{LABEL}: ")]
    return len(texts) == 1 and texts[0].startswith(f"{LABEL}: 3 runs by earlier code (code ")


def test_results_and_export_have_the_newest_code_only_and_count_the_others(edited: Folder):
    answer = results("tiny", edited.store.uri)
    assert list(answer.frame["regret"]) == [700.0]
    assert list(answer.summary()["seeds"]) == [1]
    assert is_on_three_runs_left_out(answer.notes)
    table, notes = exported(["tiny"], "setting", edited.store.uri)
    assert list(table["mean"]) == [700.0]
    assert is_on_three_runs_left_out(notes)


def test_a_report_has_the_newest_code_only_and_counts_the_others(edited: Folder):
    read = read_results(edited.store.uri)
    assert list(read.runs["regret"]) == [700.0]
    assert is_on_three_runs_left_out(read.left_out_sentences())
    assert read.only(["another"]).left_out_sentences() == []
    assert is_on_three_runs_left_out(missing.tables(read)[0].notes)


def test_the_setting_of_earlier_code_is_removed_from_the_pages(folder: Folder):
    folder.record(folder.runs(0, 1, 2), regret=30.0)
    update_pages(folder.store, ["tiny"])
    (before,) = read_aggregates(folder.store, ["tiny"])
    folder.edit(CLASS + "# edited\n")
    folder.record(folder.runs(0), regret=700.0)
    update_pages(folder.store, ["tiny"])
    (after,) = read_aggregates(folder.store, ["tiny"])
    assert before.run_id != after.run_id
    shown = folder.store.client.get_run(after.run_id)
    assert (shown.data.metrics["regret"], shown.data.tags["Seeds"]) == (700.0, "0")
    (line,) = read_aggregates(folder.store, ["overview"])
    assert is_on_three_runs_left_out(
        folder.store.client.get_run(line.run_id).data.tags["mlflow.note.content"].split("\n\n")
    )


def test_a_class_that_is_again_as_it_was_is_shown_again_without_being_executed(folder: Folder):
    folder.record(folder.runs(0, 1, 2), regret=30.0)
    folder.edit(CLASS + "# edited\n")
    folder.record(folder.runs(0), regret=700.0)
    folder.edit(CLASS)
    plan = Plan((folder.experiment.info,), "quick", tuple(folder.runs(0, 1, 2)))
    assert len(unfinished(plan.runs, folder.finished())) == 3
    swept = session.run(plan, folder.store, Unused())  # type: ignore[arg-type]
    assert len(swept.finished) == 3
    assert [record.metrics["regret"] for record in swept.earlier_code] == [700.0]
    assert list(results("tiny", folder.store.uri).frame["regret"]) == [30.0] * 3
    assert unfinished(plan.runs, folder.finished()) == []


def test_two_classes_with_one_name_are_refused():
    twin = type("Twin", (), {"choose": print, "learn": print, "__module__": "__main__", "name": "random"})
    assert len(settings_of([twin])) == 1
    with pytest.raises(ValueError, match="methods must have distinct names, got two classes with the name 'random'"):
        settings_of(["random", twin])


def raised(run: Run, **changes: Any) -> Run:
    """A run of version 2 of its method, which has one parameter more."""
    info = replace(run.info, version=2, **changes)
    parameters = {**run.parameters, "order": "new"}
    return replace(run, info=info, parameters=parameters, key=f"version 2 of {run.key}")


@pytest.fixture
def both_versions(folder: Folder) -> tuple[Folder, list[Run], list[Run]]:
    runs = make_plan([folder.experiment], RunOptions(seeds=(0, 1))).runs
    old = [run for run in runs if run.info.name == SYNC]
    return folder, old, [raised(run, changes={2: "columns are taken in another order"}) for run in old]


def test_versions_of_a_built_in_method_are_not_mixed(both_versions: tuple[Folder, list[Run], list[Run]]):
    folder, old, new = both_versions
    folder.record(old, regret=30.0)
    folder.record(new[:1], regret=700.0)
    answer = results("tiny", folder.store.uri)
    assert list(answer.frame["regret"]) == [700.0]
    assert f"Sync-LinUCB: {len(old)} runs by earlier code (version 1) left out" in "\n".join(answer.notes)
    read = read_results(folder.store.uri)
    assert (list(read.runs["regret"]), list(read.runs["variant"])) == ([700.0], [""])


def test_repeated_runs_of_an_earlier_version_are_explained_until_they_are_repeated(
    both_versions: tuple[Folder, list[Run], list[Run]],
):
    _, old, new = both_versions
    finished = [record_of(run, result_of(run)) for run in old]
    (sentence,) = repeated_sentences(new, finished)
    assert sentence == (
        f"Sync-LinUCB: {len(new)} finished runs are of version 1; they are repeated because version 2 changed: "
        "columns are taken in another order"
    )
    assert repeated_sentences(new[:1], finished)[0].startswith("Sync-LinUCB: 1 finished run is of version 1; it is")
    done = [*finished, *(record_of(run, result_of(run)) for run in new)]
    assert repeated_sentences(unfinished(new, done), done) == []
    assert repeated_sentences(old, finished) == []
    others = [replace(run, parameters={**run.parameters, "alpha": 0.7}) for run in new]
    assert repeated_sentences(others, finished) == []
