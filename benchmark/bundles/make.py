"""Make a bundle from the runs of a store."""

import json
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from benchmark.board.document import load_board
from benchmark.board.task import playable_names
from benchmark.bundles.bundle import EMPTY_CARD, SOURCE, Bundle, Source, check, portable
from benchmark.plan.method_names import find_method
from benchmark.plan.own_modules import SourceFile, own_source
from benchmark.records.data_identity import data_sets_of, fingerprints_prepared_now, split_by_code, split_by_data
from benchmark.records.reader import read
from benchmark.records.record import RunRecord
from benchmark.records.store import Store
from benchmark.records.tags import PROTOCOL, TASK
from data_pipelines.prepare.prepared import data_folder
from data_pipelines.support.messages import unknown_name


def make_bundle(name: str, store: Store, card: bytes = EMPTY_CARD.encode()) -> Bundle:
    """Return the bundle of a method, an experiment or a task: its finished runs, by the code and data of today."""
    finished = [record for record in read(store.uri) if record.status == "FINISHED"]
    prepared = fingerprints_prepared_now(data_sets_of(finished), data_folder())
    current, _ = split_by_code(split_by_data(finished, prepared)[0])
    runs = selected(name, current)
    methods = {run.method.name for run in runs}
    names = sorted({run.experiment for run in runs if PROTOCOL in run.provenance})
    boards = {board: document for board in names if (document := _document(store, board, methods))}
    played = {(board, key) for board, document in boards.items() for _, _, key, _ in document["runs"]}
    runs += [run for run in current if (run.experiment, run.key) in played]
    latest = {(run.experiment, run.key): run for run in runs}
    ordered = [portable(latest[place]) for place in sorted(latest)]
    bundle = Bundle(ordered, card, _sources(ordered), boards)
    check(bundle)
    return bundle


def selected(name: str, runs: Sequence[RunRecord]) -> list[RunRecord]:
    """Return the runs of an experiment, a task or a method of this name, the first of them that has any."""
    of_experiments = {run.experiment for run in runs}
    of_tasks = {text.partition(" ")[0] for run in runs if (text := run.provenance.get(TASK))}
    methods = {run.method.name for run in runs}
    if not runs:
        raise ValueError("there are no finished runs to bundle; start with `fedbandit run` or `fedbandit board`")
    if name in of_experiments:
        return [run for run in runs if run.experiment == name]
    if name in of_tasks:
        return [run for run in runs if run.provenance.get(TASK, "").partition(" ")[0] == name]
    if name in methods:
        return [run for run in runs if run.method.name == name]
    if name in playable_names():
        raise ValueError(f"the task {name} has no finished runs; run `fedbandit board {name} --quick` first")
    raise unknown_name("method, experiment or task with finished runs", name, of_experiments | of_tasks | methods)


def _sources(runs: Sequence[RunRecord]) -> dict[str, Source]:
    """Return the source of each class that is not built in; it must be that of its runs."""
    sources = {}
    for name, code in dict.fromkeys((run.method.name, run.method.code) for run in runs if run.method.code):
        method = find_method(name)
        own = own_source(method)
        if own.hash != code or not own.files:
            raise ValueError(f"the source of {name} is not that of its runs: its hash is {own.hash}, expected {code}")
        files = {_path(module, file): file.content for module, file in own.files.items()}
        for path in files:
            if not SOURCE.fullmatch(f"source/{code}/{path}"):
                raise ValueError(f"a module of a bundle must be a Python file with a plain name, got {path}")
        sources[code] = Source(f"{method.__module__}:{method.__qualname__}", files, own.helpers)
    return sources


def _path(module: str, file: SourceFile) -> str:
    """Return the path of a module's file from the folder from which it is imported."""
    depth = module.count(".") + (Path(file.path).stem == "__init__")
    return str(PurePosixPath(*Path(file.path).parts[-1 - depth :]))


def _document(store: Store, experiment: str, methods: set[str]) -> dict[str, Any] | None:
    """Return the latest document of a board with the rows of these methods, and of those that they are compared with.

    Facts about the task are left out: no run of the bundle shows them.
    """
    text = load_board(store, experiment)
    if text is None:
        return None
    content: dict[str, Any] = json.loads(text)
    shown = {*methods, content["protocol"]["comparison"]["reference"]}
    entries = [entry for entry in content["entries"] if entry["method"] in shown or entry["role"] == "baseline"]
    names = {name for entry in entries for name in entry["configurations"]}
    runs = [run for run in content["runs"] if run[0] in names]
    return {**content, "entries": entries, "facts": None, "runs": runs}
