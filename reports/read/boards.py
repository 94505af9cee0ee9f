"""The boards of a store: each from the latest document in its MLflow experiment, and from the records of its runs."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from benchmark.board.board import Board
from benchmark.board.document import from_json, load_board
from benchmark.board.entries import MethodRow
from benchmark.board.result import BoardResult, evaluate
from benchmark.board.task import is_shipped
from benchmark.protocol import load_protocol
from benchmark.records.record import RunRecord
from benchmark.records.store import Store
from benchmark.records.tags import PROTOCOL
from reports.read.submissions import Submission, verified_codes

OTHER_PROTOCOL = "NOT THE PROTOCOL: a try on other seeds, or with fewer passes, than the protocol has"


@dataclass(frozen=True)
class StoredBoard:
    """A board in a store: the name of its MLflow experiment, its document, and the records of its runs by key."""

    experiment: str
    document: str
    records: Mapping[str, RunRecord]

    @cached_property
    def result(self) -> BoardResult:
        """The board, evaluated."""
        board, outcomes = from_json(self.document, self.records)
        return evaluate(with_verified(board, self.records.values()), outcomes)

    @property
    def run_ids(self) -> set[str]:
        """The ids of its runs."""
        return {outcome.run_id for outcome in self.result.outcomes.values()}

    @property
    def is_by_protocol(self) -> bool:
        """Whether task, protocol and report seeds are those that are shipped."""
        board = self.result.board
        return has_shipped_protocol(board) and is_shipped(board.task, board.protocol)

    @property
    def warning(self) -> tuple[str, ...]:
        """What to show with every result if it is not by the protocol."""
        return warning_of(self.result.board)


def has_shipped_protocol(board: Board) -> bool:
    """Whether protocol and report seeds of a board are those that are shipped."""
    shipped = load_protocol()
    return board.protocol.fingerprint == shipped.fingerprint and board.seeds == shipped.seeds.reporting.seeds


def with_verified(board: Board, records: Iterable[RunRecord]) -> Board:
    """Mark the rows that must not be ranked: on the report seeds, those of classes whose bundle was not verified.

    Built-in methods count as verified: this repository has played their runs, and plays them again in its tests.
    """
    if not (has_shipped_protocol(board) and is_shipped(board.task, board.protocol)):
        return board
    codes = {record.method.name: record.method.code for record in records if record.method.code}
    entries = (replace(row, is_verified=codes.get(row.method, "") in {"", *_verified(codes)}) for row in board.entries)
    return replace(board, entries=tuple(entries))


def _verified(codes: Mapping[str, str]) -> frozenset[str]:
    """Return the sources that were verified; the bundles are read only if there is one to look for."""
    return verified_codes() if codes else frozenset()


def submitted_boards(submission: Submission) -> tuple[StoredBoard, ...]:
    """Return the boards in a bundle, of shipped tasks by the shipped protocol."""
    boards = []
    for experiment, document in submission.bundle.boards.items():
        records = {run.key: run for run in submission.bundle.runs if run.experiment == experiment}
        board = StoredBoard(experiment, json.dumps(document), records)
        loaded, _ = from_json(board.document, records)
        boards += [board] if is_shipped(loaded.task, loaded.protocol) else []
    return tuple(boards)


def submitted_rows(board: StoredBoard) -> list[MethodRow]:
    """Return the rows of a submitted board that are not built in; the others are what they are compared with."""
    own = {record.method.name for record in board.records.values() if record.method.code}
    return [entry for entry in board.result.contenders if entry.method in own]


def warning_of(board: Board) -> tuple[str, ...]:
    """Return what to show with every result of a board if it is not by the protocol."""
    return () if has_shipped_protocol(board) else (OTHER_PROTOCOL,)


def of_boards(records: Iterable[RunRecord]) -> set[str]:
    """Return the experiments that are boards: their runs have the fingerprint of a protocol."""
    return {record.experiment for record in records if PROTOCOL in record.provenance}


def read_boards(uri: str, records: Iterable[RunRecord]) -> tuple[StoredBoard, ...]:
    """Read the complete boards of a store by this version of the protocol; `records` are its finished runs."""
    of_all, store = list(records), Store(uri)
    documents = {name: load_board(store, name) for name in sorted(of_boards(of_all))}
    return tuple(
        StoredBoard(name, text, {record.key: record for record in of_all if record.experiment == name})
        for name, text in documents.items()
        if text and has_current_version(text)
    )


def has_current_version(document: str) -> bool:
    """Whether a board was played by this version of the protocol: others have other rules, and are never mixed."""
    return bool(json.loads(document)["protocol"]["version"] == load_protocol().version)


def by_protocol(boards: Iterable[StoredBoard]) -> list[StoredBoard]:
    """Return the boards of shipped tasks by the shipped protocol, in its order of tasks."""
    tasks = load_protocol().tasks
    shipped = [board for board in boards if board.is_by_protocol]
    return sorted(shipped, key=lambda board: tasks.index(board.result.board.task.name))
