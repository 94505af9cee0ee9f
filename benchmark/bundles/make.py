"""Make a bundle from the runs of a store."""

import json
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from benchmark.board.document import load_board
from benchmark.board.task import playable_names
from benchmark.bundles.bundle import EMPTY_CARD, SOURCE, Bundle, Source, check_keys, portable
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
    latest = {(run.experiment, run.key): run for run in runs}
    ordered = [portable(latest[place]) for place in sorted(latest)]
    methods = {run.method.name for run in ordered}
    boards = sorted({run.experiment for run in ordered if PROTOCOL in run.provenance})
    rows = [row for board in boards for row in _rows(store, board, methods)]
    bundle = Bundle(ordered, card, _sources(ordered), rows)
    check_keys(bundle)
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


def _rows(store: Store, experiment: str, methods: set[str]) -> list[dict[str, Any]]:
    """Return the rows of these methods in the latest document of a board, and the names of their runs."""
    document = load_board(store, experiment)
    if document is None:
        return []
    content = json.loads(document)
    entries = [entry for entry in content["entries"] if entry["method"] in methods]
    names = {name for entry in entries for name in entry["configurations"]}
    return [
        {
            "experiment": experiment,
            **{name: content[name] for name in ("fingerprint", "seeds", "squared_norm")},
            "entries": entries,
            "runs": [run for run in content["runs"] if run[0] in names],
        }
    ]
