"""The document of a board in MLflow: its rows, and the runs that form it. The numbers are in the records of runs."""

import json
import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from algorithms.method import MethodInfo
from algorithms.registry import built_in_methods
from benchmark.board.board import NORMALISED_REWARD, Board, Outcome, Outcomes, RunName
from benchmark.board.entries import MethodRow
from benchmark.board.task import Task, board_fingerprint
from benchmark.board.task_facts import TaskFacts
from benchmark.plan.experiment import ExperimentInfo
from benchmark.protocol import BenchmarkProtocol
from benchmark.records.provenance import provenance, sweep_tags
from benchmark.records.record import RunRecord, encoded
from benchmark.records.store import Store, storable_texts
from benchmark.records.tags import KIND
from benchmark.records.tracking import patiently

BOARD = "board"
FILE = "board.json"
SEEDS, REPORT, TRY = "fedbandit.seeds", "report", "try"
"""A tag of the document, and its values: whether the board was played on the report seeds of the protocol."""


def to_json(board: Board, outcomes: Outcomes) -> str:
    """Return a board as JSON: its rows, its seeds, and the key or the error of each of its runs."""
    content = {
        "fingerprint": board_fingerprint(board.task, board.protocol),
        "task": board.task.model_dump(),
        "protocol": board.protocol.model_dump(),
        "entries": [asdict(entry) for entry in board.entries],
        "seeds": list(board.seeds),
        "squared_norm": board.squared_norm,
        "source": board.source,
        "steps": board.steps,
        "clients": board.clients,
        "facts": None if board.facts is None else board.facts.to_json(),
        **({} if board.goal == NORMALISED_REWARD else {"goal": board.goal}),
        "runs": [[name, seed, outcome.key, outcome.error] for (name, seed), outcome in outcomes.items()],
    }
    return json.dumps(_plain(content), allow_nan=False, separators=(",", ":"))


def from_json(text: str, records: Mapping[str, RunRecord]) -> tuple[Board, dict[RunName, Outcome]]:
    """Return a board and its outcomes; `records` are those of its experiment, by key."""
    content = _restored(json.loads(text))
    versions = {record.method.name: record.method.version for record in records.values()}
    board = Board(
        task=Task.model_validate(content["task"]),
        protocol=BenchmarkProtocol.model_validate(content["protocol"]),
        entries=tuple(_entry(fields, versions.get(fields["method"])) for fields in content["entries"]),
        seeds=tuple(content["seeds"]),
        squared_norm=content["squared_norm"],
        source=content["source"],
        steps=content["steps"],
        clients=content["clients"],
        facts=facts_in(content),
        goal=content.get("goal", NORMALISED_REWARD),
    )
    outcomes: dict[RunName, Outcome] = {}
    for name, seed, key, error in content["runs"]:
        record = records.get(key)
        if error or record is None:
            outcomes[name, seed] = Outcome(key, error=error or "its record is missing")
        else:
            outcomes[name, seed] = Outcome(key, record.metrics, "", record.run_id, record.artifact_uri)
    return board, outcomes


def facts_in(content: Mapping[str, Any]) -> TaskFacts | None:
    """Return the facts about the task in the content of a document; None without any."""
    return TaskFacts.from_json(content["facts"]) if content.get("facts") else None


def save_board(store: Store, experiment: ExperimentInfo, board: Board, outcomes: Outcomes) -> None:
    """Write the document of a board into its MLflow experiment, unless the latest one is the same."""
    text, seeds = to_json(board, outcomes), TRY
    if board.seeds == board.protocol.seeds.reporting.seeds:
        seeds = REPORT
    if _latest(store, experiment.name, seeds) == text:
        return
    tags = storable_texts({**sweep_tags(), **provenance(), **experiment.tags, KIND: BOARD, SEEDS: seeds})
    experiment_id, client, uri = store.experiment_id(experiment), store.client, store.uri
    run = patiently(uri, lambda: client.create_run(experiment_id, tags=tags, run_name=BOARD))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / FILE
        file.write_text(text, encoding="utf-8")
        patiently(uri, lambda: client.log_artifact(run.info.run_id, str(file)))
    patiently(uri, lambda: client.set_terminated(run.info.run_id, "FINISHED"))


def load_board(store: Store, experiment: str) -> str | None:
    """Return the latest document of a board in an MLflow experiment; None without one.

    A try that is played after the report does not replace it.
    """
    return _latest(store, experiment, REPORT) or _latest(store, experiment, TRY)


def _latest(store: Store, experiment: str, seeds: str) -> str | None:
    found = store.find(experiment)
    documents = store.search(found.experiment_id, "FINISHED", BOARD) if found is not None else []
    runs = [run for run in documents if run.data.tags.get(SEEDS) == seeds]
    if not runs:
        return None
    latest = max(runs, key=lambda run: (run.info.end_time or 0, run.info.start_time))
    with tempfile.TemporaryDirectory() as folder:
        path = patiently(store.uri, lambda: store.client.download_artifacts(latest.info.run_id, FILE, folder))
        return Path(path).read_text(encoding="utf-8")


def _entry(fields: Mapping[str, Any], version: int | None) -> MethodRow:
    """Return a row; `version` is that of its method in the records of the board."""
    grids = {name: tuple(values) for name, values in fields["grids"].items()}
    fixed = {name: tuple(values) for name, values in fields["fixed"].items()}
    notes = (*fields["notes"], *_outdated(built_in_methods().get(fields["method"]), version))
    return MethodRow(**{**fields, "grids": grids, "fixed": fixed, "notes": notes})


def _outdated(method: MethodInfo | None, version: int | None) -> list[str]:
    """Return a note if a built-in method has changed since a version."""
    if method is None or version is None or version >= method.version:
        return []
    return [", ".join([f"version {version}", *method.changes_since(version)]) + " since"]


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _plain(part) for name, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, list | tuple) else encoded(value)


def _restored(value: Any) -> Any:
    if isinstance(value, list):
        return [_restored(part) for part in value]
    if not isinstance(value, dict):
        return value
    if set(value) == {"float"}:
        return float(value["float"])
    return {name: _restored(part) for name, part in value.items()}
