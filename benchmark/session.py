"""A sweep as a function: `run` executes the unfinished runs of a plan, and records each in MLflow or in memory.

    plan = make_plan(find_experiments(["fig_a"]), RunOptions(seeds=(0, 1)))
    with LocalExecutor(jobs=2) as executor:
        result = session.run(plan, Store(), executor)

It prints nothing: an observer receives the progress.
"""

import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace

from benchmark.execution.compilation import announcement, is_compiled
from benchmark.execution.own_metrics import lacking_sentences, metric_line
from benchmark.execution.run_result import RunResult
from benchmark.execution.sweep import Executor, stopping_at_signals, sweep
from benchmark.observer import Observer, silent
from benchmark.plan.experiment import experiment_names
from benchmark.plan.plan import Plan
from benchmark.plan.runs import Run, expected_seconds, unfinished, with_metrics
from benchmark.records.data_identity import split_by_code
from benchmark.records.reader import finished_runs
from benchmark.records.record import RunRecord, record_of
from benchmark.records.store import Store, mark_dead_runs, mark_strays
from benchmark.records.sweep_plan import plan_of
from benchmark.records.tracking import single_writer_lock
from benchmark.ui.pages import Curves, as_curves, update_pages
from data_pipelines.support.messages import one_line
from data_pipelines.support.secrets import without_secrets
from data_pipelines.support.text import number_of


def failure_lines(
    failures: Sequence[RunRecord], text: str = "{0.experiment}: {0.name} on {0.stream.name}"
) -> list[str]:
    """Return a line per error: the first run that failed with it, as `text` names it, and the number of the others."""
    by_error: dict[str, list[RunRecord]] = {}
    for failure in failures:
        by_error.setdefault(failure.error, []).append(failure)
    return [
        one_line(f"{text.format(first)}: {error}")
        + (f" (and {number_of(len(others), 'other run')} with this error)" if others else "")
        for error, (first, *others) in by_error.items()
    ]


@dataclass(frozen=True)
class SweepResult:
    """The outcome of a sweep.

    Args:
        finished: the records of runs that this sweep finished, including those copied from other experiments.
        failed: the records of runs that failed, each error in one line; the next sweep repeats them.
        skipped: the records of runs that were finished before.
        interrupted: whether Ctrl-C or SIGTERM ended it; the next sweep executes the remaining runs.
        earlier_code: the records of finished runs by earlier code of a method; no result includes them.
        metric_errors: one line per error of a metric of the user; the runs are finished without its value.
    """

    finished: tuple[RunRecord, ...] = ()
    failed: tuple[RunRecord, ...] = ()
    skipped: tuple[RunRecord, ...] = ()
    interrupted: bool = False
    earlier_code: tuple[RunRecord, ...] = ()
    metric_errors: tuple[str, ...] = ()


def experiments_to_read(plan: Plan) -> list[str]:
    """Return the experiments whose finished runs a sweep needs.

    Equal runs of other experiments are copied, not run; those of users' own experiments if they are planned too.
    """
    return sorted({*experiment_names(), *(experiment.name for experiment in plan.experiments)})


def run(
    plan: Plan,
    store: Store | None,
    executor: Executor,
    observer: Observer = silent,
    earlier_runs: Sequence[RunRecord] | None = None,
) -> SweepResult:
    """Run and record all unfinished runs; the store is consistent even after an error.

    Without a store, records are only kept in memory. `earlier_runs` are the finished runs of `experiments_to_read`;
    without them, the store is read, once.

    In the main thread, Ctrl-C and SIGTERM end it between two records. Errors that end the whole sweep, such as a full
    disk or a lost cluster, raise OSError or ValueError; finished runs are already recorded.
    """
    with nullcontext() if store is None else single_writer_lock(store.uri):
        if earlier_runs is None:
            earlier_runs = finished_runs(store, experiments_to_read(plan)) if store is not None else ()
        usable_runs = with_metrics(earlier_runs, plan.metrics)
        runs = [replace(run, metrics=plan.own_metrics) for run in plan.runs] if plan.own_metrics else plan.runs
        remaining_runs = unfinished(runs, usable_runs)
        if fresh := {run.key for run in remaining_runs} - {record.key for record in usable_runs}:
            executor.start(len(fresh))  # in the background, because opening a store takes seconds, too
        if store is not None and (killed_count := mark_dead_runs(store, plan.experiments)):
            observer.note(
                f"{number_of(killed_count, 'unfinished run')} of a killed process: marked KILLED, to be run again"
            )
        keys = {(run.experiment, run.key) for run in plan.runs} - {(run.experiment, run.key) for run in remaining_runs}
        skipped_runs = tuple(record for record in usable_runs if (record.experiment, record.key) in keys)
        recorder = _Recorder(plan, store, observer, expected_seconds(remaining_runs, earlier_runs))
        was_interrupted = False
        if remaining_runs:
            observer.started(len(remaining_runs), len(skipped_runs), sum(recorder.seconds.values()))
            try:
                was_interrupted = _sweep(recorder, remaining_runs, usable_runs, executor)
            finally:
                observer.ended()
        for sentence in (*recorder.undefined, *lacking_sentences((*skipped_runs, *recorder.copied), plan.own_metrics)):
            observer.note(sentence)
        records, planned = [*earlier_runs, *recorder.finished], [experiment.name for experiment in plan.experiments]
        if store is not None:
            update_pages(store, planned, records, recorder.curves, observer.note)
        _, by_earlier_code = split_by_code([record for record in records if record.experiment in planned])
        new_runs, failures = tuple(recorder.finished), tuple(recorder.failures)
        earlier = tuple(by_earlier_code)
        return SweepResult(new_runs, failures, skipped_runs, was_interrupted, earlier, tuple(recorder.metric_errors))


def _sweep(recorder: "_Recorder", runs: Sequence[Run], before: Sequence[RunRecord], executor: Executor) -> bool:
    """Execute the runs; return whether a signal interrupted them."""
    with stopping_at_signals() as stop:
        recorder.begin(runs)
        status = "KILLED"
        try:
            fresh = _reuse(recorder, runs, before, stop)
            if executor.shares_kernels and not all(is_compiled(run.method) for run in fresh):
                recorder.observer.note(announcement())
            sweep(fresh, executor, recorder.record, stop, recorder.observer.tick)
            status = "FINISHED"
        except KeyboardInterrupt:
            return True
        finally:
            recorder.close(status)
    return False


def _reuse(recorder: "_Recorder", runs: Sequence[Run], before: Sequence[RunRecord], stop: threading.Event) -> list[Run]:
    """Copy the runs that are finished, in another experiment or by code that is current again; return the others."""
    if recorder.store is None:
        return [*runs]
    elsewhere = {record.key: record for record in before}
    fresh = []
    for run in runs:
        result = recorder.store.outcome_of(elsewhere[run.key].run_id) if run.key in elsewhere else None
        if result is None:
            fresh.append(run)
        else:
            # With the time of the copy: the code of the latest runs is the newest.
            now = time.time()
            result = replace(result, started=now - (result.ended - result.started), ended=now)
            recorder.record([run], result, is_reused=True)
        if stop.is_set():
            raise KeyboardInterrupt
    return fresh


class _Recorder:
    """Writes every result to MLflow, under one parent run per experiment, and reports it to the observer."""

    def __init__(self, plan: Plan, store: Store | None, observer: Observer, seconds: Mapping[str, float]) -> None:
        self.store, self.observer, self.seconds = store, observer, seconds
        self.failures: list[RunRecord] = []
        self.finished: list[RunRecord] = []
        self.copied: list[RunRecord] = []
        self._without_value: dict[tuple[str, str, bool], list[str]] = {}
        """The runs without a value of a metric of the user, by name, reason and whether it is an error."""
        self.curves: dict[str, Curves] = {}
        self._plan = plan
        self._experiments = {experiment.name: experiment for experiment in plan.experiments}
        self._parents: dict[str, str] = {}

    def begin(self, runs: Sequence[Run]) -> None:
        """Create the parent runs."""
        if self.store is None:
            return
        for name, count in Counter(run.experiment for run in runs).items():
            experiment, plan = self._experiments[name], plan_of(self._plan, name)
            self._parents[name] = self.store.begin_sweep(experiment, self._plan.profile, count, plan)

    def record(self, runs: Sequence[Run], result: RunResult, *, is_reused: bool = False) -> None:
        """Record a result for each of these runs: a run may belong to several experiments."""
        curves = as_curves(result.curves)
        for run in runs:
            if self.store is None:
                record = record_of(run, result)
            else:
                experiment = self._experiments[run.experiment]
                record = self.store.record(self._parents[run.experiment], experiment, run, result)
                self.curves[record.run_id] = curves
            for name, reason in result.metric_problems.items():
                key = (name, reason, name not in result.own_metrics)
                self._without_value.setdefault(key, []).append(f"{run.name} on {run.stream.name}")
            if is_reused:
                self.copied.append(record)
            if result.error:
                self.failures.append(replace(record, error=one_line(without_secrets(result.error))))
            else:
                self.finished.append(record)
            seconds = self.seconds[run.key] if run is runs[0] else 0.0  # a run that experiments share is executed once
            self.observer.run_done(run, result, seconds, is_reused=is_reused)

    @property
    def metric_errors(self) -> list[str]:
        """One line per error of a metric of the user."""
        return self._metric_lines(are_errors=True)

    @property
    def undefined(self) -> list[str]:
        """One line per metric of the user that was not finite."""
        return self._metric_lines(are_errors=False)

    def _metric_lines(self, *, are_errors: bool) -> list[str]:
        return [
            one_line(without_secrets(metric_line(name, reason, runs)))
            for (name, reason, is_error), runs in self._without_value.items()
            if is_error == are_errors
        ]

    def close(self, status: str) -> None:
        """Close the parents: KILLED, or FAILED where a run failed, or FINISHED."""
        if self.store is None:
            return
        finished = Counter(record.experiment for record in self.finished)
        failed = Counter(failure.experiment for failure in self.failures)
        for name, parent in self._parents.items():
            ended = "FAILED" if status == "FINISHED" and failed[name] else status
            self.store.end_sweep(parent, ended, {"runs_finished": finished[name], "runs_failed": failed[name]})
            mark_strays(self.store, self._experiments[name])
