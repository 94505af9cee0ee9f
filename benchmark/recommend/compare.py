"""Compare methods on one stream, over seeds, on all cores; recorded in MLflow only if a store is given."""

import importlib.util
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from benchmark.execution.compilation import compile_kernels
from benchmark.execution.executors import Executor
from benchmark.execution.run_result import RunResult
from benchmark.execution.sweep import Interrupted, Sweep, jobs_by_stream, stopping_at_signals
from benchmark.observer import Observer, silent
from benchmark.plan.experiment import ExperimentInfo
from benchmark.plan.plan import Plan
from benchmark.plan.runs import Run, expected_seconds, runs_of
from benchmark.protocol import load_protocol
from benchmark.recommend.data import AnyStream, leak_notices, streams_by_seed
from benchmark.recommend.methods import is_in_this_session, settings_of
from benchmark.records.data_identity import earlier_code_sentences
from benchmark.records.record import RunRecord, record_of
from benchmark.results.budget import as_budget
from benchmark.results.results import Results, results_of
from benchmark.statistics.budgets import require_reporting
from data_pipelines.stream_spec import checked_seed

DEFAULT_SEEDS = 5


def compare(
    methods: Any,
    stream: AnyStream,
    seeds: int | Sequence[int] = DEFAULT_SEEDS,
    budget: Any = None,
    jobs: int | None = None,
    store: Any = None,
    *,
    points: int | None = None,
    experiment: str | None = None,
    observer: Observer = silent,
) -> Results:
    """Run methods on a stream, and return their results.

    Args:
        methods: names, classes or instances. A name or class without a value for its threshold runs through the grid
            that the method declares.
        stream: the name of a prepared data set, an `EventStream`, a `StreamSpec`, or a function of the seed.
        seeds: their number, or a list.
        budget: what `best` and `plot` of the results use by default: `"10/client"`, 5000 (transfers in total) or
            `"1MB"`.
        jobs: the number of processes; all cores by default.
        store: an MLflow store (`Store` or its address): finished runs are read from it, new ones are recorded.
            Without one, results are only kept in memory.
        points: how many values of its grid a name or class without a value runs through; all by default.
        experiment: the name of the experiment in the store; `compare-` and the name of the stream by default.
        observer: receives the progress.
    """
    limit = as_budget(budget)
    numbers = seed_list(seeds)
    candidates = settings_of(methods, points=points)
    streams = streams_by_seed(stream, numbers)
    spec = streams[numbers[0]]
    name = experiment or f"compare-{spec.name}"
    runs, not_run = runs_of(name, streams.items(), lambda _: candidates)
    skipped = {method: reason for (_, method), reason in not_run.items()}
    notes = [*([label.of(spec.name)] if (label := spec.data_label()) else []), *leak_notices(spec)]
    notes += [f"{method} does not take part: {reason}" for method, reason in skipped.items()]
    if not runs:
        raise ValueError(f"no method takes part on {spec.name}: {'; '.join(skipped.values())}")
    if store is None:
        return results_of(in_memory(runs, jobs, observer), limit, notes)
    records, failures, left_out = _recorded(runs, store, jobs, observer)
    return Results(tuple(records), limit, (*notes, *left_out), tuple(failures))


def seed_list(seeds: int | Sequence[int]) -> list[int]:
    """Return the seeds as a list; those on which settings are chosen are refused."""
    numbers = list(range(seeds)) if isinstance(seeds, int) and seeds > 0 else seeds
    if not isinstance(numbers, Sequence) or isinstance(numbers, str) or not len(numbers):
        raise ValueError(f"seeds must be a number from 1 or a list of seeds, got {seeds!r}")
    numbers = list(dict.fromkeys(checked_seed(seed) for seed in numbers))
    require_reporting(numbers, load_protocol().seeds.choosing.seeds)
    return numbers


def in_memory(runs: Sequence[Run], jobs: int | None = None, observer: Observer = silent) -> list[RunRecord]:
    """Execute runs in processes on this machine and return their records, in the order of the runs."""
    from benchmark.execution.local import LocalExecutor

    with without_the_script(), LocalExecutor(jobs) as executor:
        return play(runs, executor, observer)


def play(runs: Sequence[Run], executor: Executor, observer: Observer = silent) -> list[RunRecord]:
    """Execute runs without a store, and return their records, in the order of the runs."""
    seconds = expected_seconds(runs, [])
    collector = _Collector(observer, dict(seconds))
    observer.started(len(runs), 0, sum(seconds.values()))
    try:
        with stopping_at_signals() as stop:
            _sweep(runs, executor, collector, stop)
    finally:
        observer.ended()
    return [collector.records[run.key] for run in runs]


def _sweep(runs: Sequence[Run], executor: Executor, collector: "_Collector", stop: threading.Event) -> None:
    try:
        if executor.compiler is not None:
            compile_kernels(executor.compiler, runs, collector.observer, stop)
        Sweep(executor, collector, jobs_by_stream(runs)).go(stop)
    except Interrupted:
        raise KeyboardInterrupt from None


@dataclass
class _Collector:
    """Keeps the records of runs by key."""

    observer: Observer
    seconds: dict[str, float]
    records: dict[str, RunRecord] = field(default_factory=dict)

    def done(self, runs: Sequence[Run], result: RunResult) -> None:
        """Keep the record of a run."""
        for run in runs:
            self.records[run.key] = record_of(run, result)
            self.observer.run_done(run, result, self.seconds[run.key], is_reused=False)

    def tick(self) -> None:
        """Pass the tick on to the observer."""
        self.observer.tick()


def _recorded(
    runs: Sequence[Run], store: Any, jobs: int | None, observer: Observer
) -> tuple[list[RunRecord], list[str], list[str]]:
    """Execute the runs that are not in a store yet; return the records of all, a line per failure, and notes."""
    from benchmark import session
    from benchmark.execution.local import LocalExecutor
    from benchmark.records.store import Store

    for run in runs:
        if is_in_this_session(run.method):
            raise ValueError(f"{run.info.name} must be in a module to be recorded; move the class to a file")
    name = runs[0].experiment
    plan = Plan((ExperimentInfo(name, f"Methods compared on {runs[0].stream.name}"),), "compare", tuple(runs))
    target = store if isinstance(store, Store) else Store(str(store))
    with without_the_script(), LocalExecutor(jobs) as executor:
        result = session.run(plan, target, executor, observer)
    if result.interrupted:
        raise KeyboardInterrupt
    keys = {run.key: index for index, run in enumerate(runs)}
    latest = {record.key: record for record in (*result.skipped, *result.finished)}
    in_order = sorted(latest.values(), key=lambda record: keys[record.key])
    failures = session.failure_lines(result.failed, lambda failure: f"{failure.run}: {failure.error}")
    return in_order, failures, earlier_code_sentences(result.earlier_code)


@contextmanager
def without_the_script() -> Iterator[None]:
    """Let worker processes start without executing the user's script, which may lack `if __name__ == "__main__"`."""
    script = sys.modules["__main__"]
    before = getattr(script, "__spec__", None)
    script.__spec__ = importlib.util.find_spec("benchmark.__main__")
    try:
        yield
    finally:
        script.__spec__ = before
