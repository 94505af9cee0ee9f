"""The boards of a store: each from the latest document in its MLflow experiment, and from the records of its runs."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from benchmark.board.board import Board
from benchmark.board.document import from_json, load_board
from benchmark.board.result import BoardResult, evaluate
from benchmark.board.task import is_shipped
from benchmark.protocol import load_protocol
from benchmark.records.record import RunRecord
from benchmark.records.store import Store
from benchmark.records.tags import PROTOCOL

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
        return evaluate(*from_json(self.document, self.records))

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
