"""Metrics of the user: `--metric module:NAME`, or the name of an entry point `fedbandit.metrics`.

They are computed last, from the source that was read when the runs were planned. One that fails costs its own value
only: the run is recorded without it, and `fedbandit runs fill` can add it later.
"""

import importlib
import math
import re
import time
import traceback
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from numbers import Real
from pathlib import Path

from algorithms import Trace
from algorithms.registry import built_in_methods
from benchmark.execution.sent_modules import importable
from benchmark.metrics import (
    CURVE_SUFFIX,
    METRICS,
    SHOWN,
    Metric,
    OwnMetric,
    OwnMetrics,
    metric_names,
    own_metrics_to_json,
)
from benchmark.plan.own_modules import SourceFiles
from benchmark.plan.plugins import Kind
from benchmark.records.record import RunRecord
from data_pipelines import EventStream
from data_pipelines.support.messages import error_text, one_line, unknown_name
from data_pipelines.support.text import number_of

PLUGINS = Kind("metric", "fedbandit.metrics", "Metric", Metric)
NAME = re.compile(r"[a-z][a-z0-9_]{0,49}")
LABEL = re.compile(r"\w[\w .\-/]{0,79}")
"""What MLflow accepts as the name of a metric."""

WORDS = {"better": ("higher", "lower", "neither"), "scale": ("linear", "log", "log1p")}
COLUMNS = ("algorithm", "variant", "threshold", "d_g", "C_T")
"""Headings of the report's table of settings."""

MAX_TEXT = 200


@dataclass(frozen=True)
class PlannedMetric:
    """A metric of the user to be computed: what runs record of it, and its source, as it was when it was planned."""

    own: OwnMetric
    files: SourceFiles = field(default_factory=dict, repr=False)

    @property
    def name(self) -> str:
        """Its name."""
        return self.own.metric.name

    def is_in(self, record: RunRecord) -> bool:
        """Whether a run has been measured by this source."""
        return self.name in record.own_metrics and record.own_metrics[self.name].code == self.own.code

    def value(self, trace: Trace, stream: EventStream) -> float:
        """Return its value, NaN or infinite where it is undefined; ValueError with one line if it has none."""
        module, _, name = self.own.reference.partition(":")
        try:
            with importable(self.files):
                metric = reduce(getattr, name.split("."), importlib.import_module(module))
                value = metric.of(trace, stream)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # also `sys.exit`
            raise ValueError(one_line(f"{error_text(error)}{_where(error, module)}")) from None
        if not isinstance(value, Real):
            raise ValueError(one_line(f"it must return a number, got {value!r}"))
        return float(value)


def _where(error: BaseException, module: str) -> str:
    """Return the line of a module's file in which an error occurred; empty if it occurred elsewhere."""
    file = f"{module.rpartition('.')[2]}.py"
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).name == file]
    return f" ({file}, line {lines[-1]})" if lines else ""


@dataclass(frozen=True)
class Measured:
    """What the metrics of the user say about a run.

    Args:
        values: the finite values, by name.
        own: the metrics that returned a number, finite or not.
        problems: why there is no value, by name.
    """

    values: dict[str, float] = field(default_factory=dict)
    own: OwnMetrics = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)


def measured(metrics: Iterable[PlannedMetric], trace: Trace, stream: EventStream) -> Measured:
    """Compute metrics of a run."""
    values, own, problems = dict[str, float](), dict[str, OwnMetric](), dict[str, str]()
    for each in metrics:
        try:
            value = each.value(trace, stream)
        except ValueError as error:
            problems[each.name] = str(error)
            continue
        own[each.name] = each.own
        if math.isfinite(value):
            values[each.name] = value
        else:
            problems[each.name] = f"it is {value}, so it is not recorded"
    return Measured(values, own, problems)


def find_metrics(names: Sequence[str]) -> tuple[PlannedMetric, ...]:
    """Return metrics by name or `module:NAME`, each once, with their source as it is now."""
    found = tuple(find_metric(name) for name in dict.fromkeys(names))
    for index, each in enumerate(found):
        if each.name in (other.name for other in found[:index]):
            raise ValueError(f"--metric must have distinct names, got two with the name {each.name!r}")
    own_metrics_to_json({each.name: each.own for each in found})
    return found


def find_metric(name: str) -> PlannedMetric:
    """Return a metric by name or `module:NAME`, with its source as it is now."""
    metric = PLUGINS.own(name) if ":" in name else PLUGINS.installed(name)
    if metric is None:
        raise unknown_name("metric of the user", name, ["module:NAME", *PLUGINS.names()])
    _check(metric, name)
    reference, source = PLUGINS.source(name)
    shown = Metric(metric.name, **{field: getattr(metric, field) for field in SHOWN})
    return PlannedMetric(OwnMetric(shown, reference, source.hash, int(time.time() * 1000)), source.files)


def _check(metric: Metric, given: str) -> None:
    """Refuse a metric that cannot be recorded or shown beside the built-in ones."""
    from benchmark.results.frames import run_frame
    from benchmark.ui.settings import NUMBERS, metric_name

    def refuse(what: str, must: str, got: object) -> None:
        raise ValueError(one_line(f"metric {given!r}: {what} must {must}, got {got!r}"))

    columns = {*run_frame([]).columns, *(f"{name}{end}" for name in metric_names() for end in ("_low", "_high"))}
    columns |= {parameter for info in built_in_methods().values() for parameter in info.parameters}
    if not isinstance(metric.name, str) or not NAME.fullmatch(metric.name) or metric.name.endswith(CURVE_SUFFIX):
        refuse("name", "be at most 50 letters a-z, digits and _, and not end in _curve", metric.name)
    if metric.name in columns:
        refuse("name", "not be that of a built-in metric or of another column of results", metric.name)
    labels = {metric_name(each).lower() for each in METRICS} | {each.lower() for each in (*NUMBERS, *COLUMNS)}
    if not isinstance(metric.label, str) or not LABEL.fullmatch(metric.label) or metric.label.lower() in labels:
        refuse("label", "be at most 80 letters, digits and spaces, and not that of a built-in metric", metric.label)
    for name, words in WORDS.items():
        if (word := getattr(metric, name)) not in words:
            refuse(name, f"be one of {', '.join(words)}", word)
    for name in ("unit", "symbol", "meaning"):
        if not isinstance(text := getattr(metric, name), str) or len(text) > MAX_TEXT:
            refuse(name, f"be a text of at most {MAX_TEXT} characters", text)
    if metric.by_chance is not None and not isinstance(metric.by_chance, Real):
        refuse("by_chance", "be a number", metric.by_chance)
    if not callable(metric.of):
        refuse("of", "be a function of a trace and its stream", metric.of)
    if metric.curve is not None or metric.curve_replaces:
        refuse("curve", "be left out: only built-in metrics are recorded over time", metric.curve)


def metric_line(name: str, reason: str, runs: Sequence[str]) -> str:
    """Return the line on runs without a value of a metric, given their names: the first, and how many others."""
    others = f" (and {number_of(len(runs) - 1, 'other run')})" if len(runs) > 1 else ""
    return f"metric {name} of {runs[0]}: {reason}{others}"


def lacking_sentences(records: Iterable[RunRecord], metrics: Sequence[PlannedMetric]) -> list[str]:
    """Return one sentence per metric on the finished runs that have no value of it."""
    listed = list(records)
    sentences = []
    for each in metrics:
        if count := sum(not each.is_in(record) for record in listed):
            runs = f"{number_of(count, 'finished run')} {'was' if count == 1 else 'were'}"
            command = f"fedbandit runs fill {each.own.reference}"
            sentences.append(f"{each.name}: {runs} recorded without it; to add it, run `{command}`")
    return sentences
