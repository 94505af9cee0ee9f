"""Compare methods on one stream, over seeds, on all cores; recorded in MLflow only if a store is given."""

import importlib.util
import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from benchmark import session
from benchmark.execution.own_metrics import find_metrics
from benchmark.observer import Observer, silent
from benchmark.plan.experiment import ExperimentInfo
from benchmark.plan.method_names import is_in_this_session
from benchmark.plan.plan import Plan
from benchmark.plan.runs import Run, runs_of, settings_of
from benchmark.protocol import load_protocol
from benchmark.recommend.data import AnyStream, leak_notices, streams_by_seed
from benchmark.recommend.log import cases_from
from benchmark.records.data_identity import earlier_code_sentences, split_by_metric_code
from benchmark.records.record import dataset_label
from benchmark.records.store import Store
from benchmark.results.budget import as_budget
from benchmark.results.results import Results
from benchmark.statistics.budgets import require_reporting
from data_pipelines.stream_spec import checked_seed

DEFAULT_SEEDS = 5
METRICS = ("needed_per_decision",)
"""What the communication of a run is measured by."""


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
    metrics: Sequence[str] = (),
    observer: Observer = silent,
) -> Results:
    """Run methods on a stream, and return their results.

    Args:
        methods: names, classes or instances. A name or class without a value for its threshold runs through the grid
            that the method declares.
        stream: the name of a prepared data set or a file, with the pools of `recommend`, an `EventStream`, a
            `StreamSpec`, or a function of the seed.
        seeds: their number, or a list.
        budget: what `best` and `plot` of the results use by default: `"10/client"`, `"3/client/day"` (of a name or a
            file), 5000 (transfers in total) or `"1MB"`.
        jobs: the number of processes; all cores by default.
        store: an MLflow store (`Store` or its address): finished runs are read from it, new ones are recorded.
            Without one, results are only kept in memory.
        points: how many values of its grid a name or class without a value runs through; all by default.
        experiment: the name of the experiment in the store; `compare-` and the name of the stream by default.
        metrics: further metrics of your own, `module:NAME` each, or installed ones by name.
        observer: receives the progress.
    """
    from benchmark.execution.local import LocalExecutor

    log, pools = None, ""
    if isinstance(stream, str):
        log, (case, *_) = cases_from(stream)
        stream, pools = case.task.stream, case.pools
    limit = as_budget(budget).in_all(log.days if log else math.nan)
    numbers = seed_list(seeds)
    candidates = settings_of(methods, points=points)
    streams = streams_by_seed(stream, numbers)
    spec = streams[numbers[0]]
    name = experiment or f"compare-{spec.name}"
    runs, not_run = runs_of(name, streams.items(), lambda _: candidates)
    skipped = {method: reason for (_, method), reason in not_run.items()}
    label = spec.data_label()
    notes = [text for text in (pools, label and label.of(spec.name)) if text] + [*leak_notices(spec)]
    notes += [f"{method} does not take part: {reason}" for method, reason in skipped.items()]
    if not runs:
        raise ValueError(f"no method takes part on {spec.name}: {'; '.join(skipped.values())}")
    if store is not None:
        _require_modules(runs)
    info = ExperimentInfo(name, f"Methods compared on {dataset_label(spec.name)}")
    plan = Plan((info,), "compare", tuple(runs), metrics=METRICS, own_metrics=find_metrics(metrics))
    with without_the_script(), LocalExecutor(jobs) as executor:
        result = session.run(plan, as_store(store), executor, observer)
    if result.interrupted:
        raise KeyboardInterrupt
    order = {run.key: index for index, run in enumerate(runs)}
    latest = {record.key: record for record in (*result.skipped, *result.finished)}
    records = sorted(latest.values(), key=lambda record: order[record.key])
    records, _, lacking = split_by_metric_code(records)
    failures = [*session.failure_lines(result.failed, "{0.name}"), *result.metric_errors]
    notes += [*earlier_code_sentences(result.earlier_code), *lacking.values()]
    return Results(tuple(records), limit, tuple(notes), tuple(failures))


def seed_list(seeds: int | Sequence[int]) -> list[int]:
    """Return the seeds as a list; those on which settings are chosen are refused."""
    numbers = list(range(seeds)) if isinstance(seeds, int) and seeds > 0 else seeds
    if not isinstance(numbers, Sequence) or isinstance(numbers, str) or not len(numbers):
        raise ValueError(f"seeds must be a number from 1 or a list of seeds, got {seeds!r}")
    numbers = list(dict.fromkeys(checked_seed(seed) for seed in numbers))
    require_reporting(numbers, load_protocol().seeds.choosing.seeds)
    return numbers


def as_store(store: Any) -> Store | None:
    """Return a store that is given by its address."""
    return store if store is None or isinstance(store, Store) else Store(str(store))


def _require_modules(runs: Sequence[Run]) -> None:
    """Refuse to record a class that is not in a module: its source is not known."""
    for run in runs:
        if is_in_this_session(type(run.method)):
            raise ValueError(f"{run.info.name} must be in a module to be recorded; move the class to a file")


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
