"""What becomes of the outcomes of a sweep: parents for each experiment, a record for each run, counts."""

from collections import Counter
from collections.abc import Mapping, Sequence

from benchmark.dead_sweeps import mark_strays
from benchmark.experiment import Experiment
from benchmark.outcome import Outcome
from benchmark.plan import Run
from benchmark.store import Store
from benchmark.sweep_display import SweepDisplay
from data_pipelines.secrets import without_secrets


class SweepRecorder:
    """Writes every outcome to MLflow, under one parent run for each experiment."""

    def __init__(
        self,
        store: Store,
        experiments: Sequence[Experiment],
        profile: str,
        runs: Sequence[Run],
        display: SweepDisplay,
        work: Mapping[str, float],
    ) -> None:
        self._store, self._display, self._work = store, display, work
        self._experiments = {experiment.name: experiment for experiment in experiments}
        planned = Counter(run.experiment for run in runs)
        self._parents = {
            name: store.begin_sweep(self._experiments[name], profile, count) for name, count in planned.items()
        }
        self._finished: Counter[str] = Counter()
        self._failed: Counter[str] = Counter()
        self.failures: list[str] = []

    def done(self, runs: Sequence[Run], outcome: Outcome) -> None:
        """Record an outcome in every experiment that asked for it."""
        for run in runs:
            self._store.record(self._parents[run.experiment], self._experiments[run.experiment], run, outcome)
            (self._failed if outcome.error else self._finished)[run.experiment] += 1
            if outcome.error:
                self.failures.append(
                    f"{run.experiment}: {run.name} on {run.source.name}: {without_secrets(outcome.error)}"
                )
            # A run that several experiments share is work once.
            self._display.count(bool(outcome.error), self._work[run.key] if run is runs[0] else 0.0)

    def tick(self) -> None:
        """Show that the sweep is alive."""
        self._display.refresh()

    def close(self, status: str) -> None:
        """Close the parents: KILLED, or FAILED where a run failed, or FINISHED."""
        for name, parent in self._parents.items():
            ended = "FAILED" if status == "FINISHED" and self._failed[name] else status
            counts = {"runs_finished": self._finished[name], "runs_failed": self._failed[name]}
            self._store.end_sweep(parent, ended, counts)
            self._store.save_chart_view(self._experiments[name])
            mark_strays(self._store, self._experiments[name])
