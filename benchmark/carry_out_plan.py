"""Carry out what is left of a plan, and leave the store in order whatever happens."""

import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from benchmark.dead_sweeps import mark_dead_runs, only_writer
from benchmark.estimate import expected_seconds
from benchmark.executors import Executor
from benchmark.experiment import Experiment, experiment_names
from benchmark.finished import FinishedRun, finished_runs
from benchmark.local_executor import LocalExecutor
from benchmark.plan import Run
from benchmark.recording import SweepRecorder
from benchmark.store import Store
from benchmark.sweep import Interrupted, Sweep, group_runs, stopping_at_signals
from benchmark.sweep_display import SweepDisplay
from benchmark.warm_up import compile_kernels

if TYPE_CHECKING:
    from benchmark.run_experiments import Request


def carry_out_plan(
    store: Store, experiments: Sequence[Experiment], runs: Sequence[Run], request: "Request"
) -> tuple[list[str], bool]:
    """Run and record what is not finished; return the failures and whether it was interrupted."""
    with only_writer(store):
        if marked := mark_dead_runs(store, experiments):
            print(f"{marked} runs were left behind by a process that died: marked KILLED, repeated", file=sys.stderr)
        names = {*experiment_names(), *(experiment.name for experiment in experiments)}
        finished = finished_runs(store, sorted(names))
        done = {(each.experiment, each.key) for each in finished}
        todo = [run for run in runs if (run.experiment, run.key) not in done]
        if not todo:
            return [], False
        executor = make_executor(request)
        work = expected_seconds(todo, finished)
        display = SweepDisplay(len(todo), len(runs) - len(todo), sum(work.values()))
        try:
            return _sweep(store, experiments, todo, finished, request.profile, executor, display, work)
        finally:
            display.close()
            executor.close()


def _sweep(
    store: Store,
    experiments: Sequence[Experiment],
    todo: Sequence[Run],
    finished: Sequence[FinishedRun],
    profile: str,
    executor: Executor,
    display: SweepDisplay,
    work: Mapping[str, float],
) -> tuple[list[str], bool]:
    with stopping_at_signals() as stop:
        recorder = SweepRecorder(store, experiments, profile, todo, display, work)
        status = "KILLED"
        try:
            elsewhere = {each.key: each for each in finished}
            for run in todo:
                if run.key in elsewhere and not stop.is_set():
                    recorder.done([run], store.outcome_of(elsewhere[run.key].run_id))
            if stop.is_set():
                raise Interrupted
            fresh = [run for run in todo if run.key not in elsewhere]
            if isinstance(executor, LocalExecutor):  # the workers of a cluster have disks of their own
                compile_kernels(executor, fresh, display, stop)
            Sweep(executor, recorder, group_runs(fresh)).go(stop)
            status = "FINISHED"
        except (Interrupted, KeyboardInterrupt):
            return recorder.failures, True
        finally:
            recorder.close(status)
    return recorder.failures, False


def make_executor(request: "Request") -> Executor:
    """Return the executor that was asked for."""
    if request.executor == "dask":
        from benchmark.dask_executor import DaskExecutor

        return DaskExecutor(str(request.scheduler))
    return LocalExecutor(request.jobs or usable_cores())


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
