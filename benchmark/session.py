"""A sweep as a function: `run` executes the unfinished runs of a plan, and records each in MLflow.

    plan = make_plan(find_experiments(["fig_a"]), RunOptions(seeds=(0, 1)))
    with LocalExecutor(jobs=2) as executor:
        result = session.run(plan, Store(), executor)

It prints nothing: an observer receives the progress.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from benchmark.execution.compilation import compile_kernels
from benchmark.execution.executors import Executor
from benchmark.execution.run_result import RunResult
from benchmark.execution.sweep import Interrupted, Sweep, jobs_by_stream, stopping_at_signals
from benchmark.observer import Observer, silent
from benchmark.plan.experiment import experiment_names
from benchmark.plan.plan import Plan
from benchmark.plan.runs import Run, expected_seconds, unfinished
from benchmark.records.data_identity import split_by_code
from benchmark.records.reader import finished_runs
from benchmark.records.record import RunRecord
from benchmark.records.store import Store, mark_dead_runs, mark_strays, single_writer_lock
from benchmark.records.sweep_plan import plan_of
from benchmark.ui.pages import Curves, as_curves, update_pages
from data_pipelines.support.messages import one_line
from data_pipelines.support.secrets import without_secrets
from data_pipelines.support.text import number_of


@dataclass(frozen=True)
class Failure:
    """A run that failed: its experiment, name, stream and key, and the error in one line, secrets removed."""

    experiment: str
    run: str
    stream: str
    error: str
    key: str

    def __str__(self) -> str:
        """Return everything in one line."""
        return f"{self.experiment}: {self.run} on {self.stream}: {self.error}"


def failure_lines(failures: Sequence[Failure], text: Callable[[Failure], str] = str) -> list[str]:
    """Return a line per error: the text of the first run that failed with it, and the number of the others."""
    by_error: dict[str, list[Failure]] = {}
    for failure in failures:
        by_error.setdefault(failure.error, []).append(failure)
    return [
        text(first) + (f" (and {number_of(len(others), 'other run')} with this error)" if others else "")
        for first, *others in by_error.values()
    ]


@dataclass(frozen=True)
class SweepResult:
    """The outcome of a sweep.

    Args:
        finished: the records of runs that this sweep finished, including those copied from other experiments.
        failed: the runs that failed; the next sweep repeats them.
        skipped: the records of runs that were finished before.
        interrupted: whether Ctrl-C or SIGTERM ended it; the next sweep executes the remaining runs.
        earlier_code: the records of finished runs by earlier code of a method; no result includes them.
    """

    finished: tuple[RunRecord, ...] = ()
    failed: tuple[Failure, ...] = ()
    skipped: tuple[RunRecord, ...] = ()
    interrupted: bool = False
    earlier_code: tuple[RunRecord, ...] = ()


def experiments_to_read(plan: Plan) -> list[str]:
    """Return the experiments whose finished runs a sweep needs.

    Equal runs of other experiments are copied, not run; those of users' own experiments if they are planned too.
    """
    return sorted({*experiment_names(), *(experiment.name for experiment in plan.experiments)})


def run(
    plan: Plan,
    store: Store,
    executor: Executor,
    observer: Observer = silent,
    earlier_runs: Sequence[RunRecord] | None = None,
) -> SweepResult:
    """Run and record all unfinished runs; the store is consistent even after an error.

    `earlier_runs` are the finished runs of `experiments_to_read`; without them, the store is read, once.

    In the main thread, Ctrl-C and SIGTERM end it between two records. Errors that end the whole sweep, such as a full
    disk or a lost cluster, raise OSError or ValueError; finished runs are already recorded.
    """
    with single_writer_lock(store):
        if killed_count := mark_dead_runs(store, plan.experiments):
            observer.note(
                f"{killed_count} unfinished runs from a crashed process were marked KILLED and will be run again"
            )
        if earlier_runs is None:
            earlier_runs = finished_runs(store, experiments_to_read(plan))
        remaining_runs = unfinished(plan.runs, earlier_runs)
        keys = {(run.experiment, run.key) for run in plan.runs} - {(run.experiment, run.key) for run in remaining_runs}
        skipped_runs = tuple(record for record in earlier_runs if (record.experiment, record.key) in keys)
        planned = [experiment.name for experiment in plan.experiments]
        if not remaining_runs:
            update_pages(store, planned, earlier_runs)
            return SweepResult(skipped=skipped_runs, earlier_code=_by_earlier_code(earlier_runs, planned))
        recorder = _Recorder(plan, store, observer, expected_seconds(remaining_runs, earlier_runs))
        observer.started(len(remaining_runs), len(skipped_runs), sum(recorder.seconds.values()))
        try:
            was_interrupted = _sweep(recorder, remaining_runs, earlier_runs, executor)
        finally:
            observer.ended()
        records = [*earlier_runs, *recorder.finished]
        update_pages(store, planned, records, recorder.curves)
        by_earlier_code, new_runs = _by_earlier_code(records, planned), tuple(recorder.finished)
        return SweepResult(new_runs, tuple(recorder.failures), skipped_runs, was_interrupted, by_earlier_code)


def _by_earlier_code(records: Sequence[RunRecord], experiments: Sequence[str]) -> tuple[RunRecord, ...]:
    _, earlier = split_by_code([record for record in records if record.experiment in experiments])
    return tuple(earlier)


def _sweep(recorder: "_Recorder", runs: Sequence[Run], before: Sequence[RunRecord], executor: Executor) -> bool:
    """Execute the runs; return whether a signal interrupted them."""
    with stopping_at_signals() as stop:
        recorder.begin(runs)
        status = "KILLED"
        try:
            fresh = _reuse(recorder, runs, before, stop)
            if executor.compiler is not None:
                compile_kernels(executor.compiler, fresh, recorder.observer, stop)
            Sweep(executor, recorder, jobs_by_stream(fresh)).go(stop)
            status = "FINISHED"
        except (Interrupted, KeyboardInterrupt):
            return True
        finally:
            recorder.close(status)
    return False


def _reuse(recorder: "_Recorder", runs: Sequence[Run], before: Sequence[RunRecord], stop: threading.Event) -> list[Run]:
    """Copy the runs that are finished, in another experiment or by code that is current again; return the others."""
    elsewhere = {record.key: record for record in before}
    fresh = []
    for run in runs:
        result = recorder.store.outcome_of(elsewhere[run.key].run_id) if run.key in elsewhere else None
        if result is None:
            fresh.append(run)
        else:
            recorder.record([run], _as_of_now(result), is_reused=True)
        if stop.is_set():
            raise Interrupted
    return fresh


def _as_of_now(result: RunResult) -> RunResult:
    """Return a copied result with the time of the copy: the code of the latest runs is the newest."""
    now = time.time()
    return replace(result, started=now - (result.ended - result.started), ended=now)


class _Recorder:
    """Writes every result to MLflow, under one parent run per experiment, and reports it to the observer."""

    def __init__(self, plan: Plan, store: Store, observer: Observer, seconds: Mapping[str, float]) -> None:
        self.store, self.observer, self.seconds = store, observer, seconds
        self.failures: list[Failure] = []
        self.finished: list[RunRecord] = []
        self.curves: dict[str, Curves] = {}
        self._plan = plan
        self._experiments = {experiment.name: experiment for experiment in plan.experiments}
        self._parents: dict[str, str] = {}
        self._finished: Counter[str] = Counter()
        self._failed: Counter[str] = Counter()

    def begin(self, runs: Sequence[Run]) -> None:
        """Create the parent runs."""
        for name, count in Counter(run.experiment for run in runs).items():
            experiment, plan = self._experiments[name], plan_of(self._plan, name)
            self._parents[name] = self.store.begin_sweep(experiment, self._plan.profile, count, plan)

    def done(self, runs: Sequence[Run], result: RunResult) -> None:
        """Record the result of a run, which may belong to several experiments."""
        self.record(runs, result, is_reused=False)

    def record(self, runs: Sequence[Run], result: RunResult, *, is_reused: bool) -> None:
        """Record a result for each of these runs."""
        curves = as_curves(result.curves)
        for run in runs:
            experiment = self._experiments[run.experiment]
            record = self.store.record(self._parents[run.experiment], experiment, run, result)
            self.curves[record.run_id] = curves
            (self._failed if result.error else self._finished)[run.experiment] += 1
            if not result.error:
                self.finished.append(record)
            else:
                error = one_line(without_secrets(result.error))
                names = (run.experiment, one_line(run.name), one_line(run.stream.name))
                self.failures.append(Failure(*names, error, run.key))
            seconds = self.seconds[run.key] if run is runs[0] else 0.0  # a run that experiments share is executed once
            self.observer.run_done(run, result, seconds, is_reused=is_reused)

    def tick(self) -> None:
        """Pass the tick on to the observer."""
        self.observer.tick()

    def close(self, status: str) -> None:
        """Close the parents: KILLED, or FAILED where a run failed, or FINISHED."""
        for name, parent in self._parents.items():
            ended = "FAILED" if status == "FINISHED" and self._failed[name] else status
            counts = {"runs_finished": self._finished[name], "runs_failed": self._failed[name]}
            self.store.end_sweep(parent, ended, counts)
            mark_strays(self.store, self._experiments[name])
