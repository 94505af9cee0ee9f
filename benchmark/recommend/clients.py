"""What each client earns with a configuration, from the files of runs that are recorded or were just executed."""

import io
from collections.abc import Mapping
from typing import TYPE_CHECKING

from benchmark.board.play import board_experiment
from benchmark.board.result import BoardResult
from benchmark.metrics import Goal
from benchmark.observer import Observer
from benchmark.records.artifacts import CLIENTS, files_of, read_client_totals
from benchmark.records.store import Store

if TYPE_CHECKING:
    from benchmark.execution.run_result import RunResult
    from benchmark.plan.runs import Run

COLUMNS: Mapping[Goal, str] = {"hits": "reward", "value": "value"}


class ClientFiles(Observer):
    """Keeps the totals per client of the reporting runs that are executed, and passes everything on."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._files: dict[str, bytes] = {}

    def started(self, runs: int, skipped: int, seconds: float) -> None:
        """Pass it on."""
        self._observer.started(runs, skipped, seconds)

    def note(self, text: str) -> None:
        """Pass it on."""
        self._observer.note(text)

    def run_done(self, run: "Run", result: "RunResult", seconds: float, *, is_reused: bool) -> None:
        """Keep the totals of a run on a seed that reports, and pass it on."""
        if len(files_of(run.seed)) > 1 and CLIENTS in result.files:
            self._files[run.key] = result.files[CLIENTS]
        self._observer.run_done(run, result, seconds, is_reused=is_reused)

    def tick(self) -> None:
        """Pass it on."""
        self._observer.tick()

    def ended(self) -> None:
        """Pass it on."""
        self._observer.ended()

    def totals(self, result: BoardResult, configuration: str, goal: Goal, store: Store | None) -> dict[int, float]:
        """Return what each client earns, summed over the report seeds; empty if a file is missing."""
        import pandas as pd

        experiment, parts = board_experiment(result.board).name, []
        for seed in result.board.seeds:
            outcome = result.outcomes.get((configuration, seed))
            content = self._files.get(outcome.key, b"") if outcome else b""
            if not content and outcome and outcome.run_id and store is not None:
                content = read_client_totals(store, experiment, outcome.run_id, outcome.artifact_uri)
            if not content:
                return {}
            table = pd.read_parquet(io.BytesIO(content), columns=["client", COLUMNS[goal]])
            parts.append(table.set_index("client")[COLUMNS[goal]])
        totals = pd.concat(parts).groupby(level=0).sum()
        return {int(client): float(total) for client, total in totals.items()}
