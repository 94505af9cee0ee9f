"""What MLflow's pages show: settings, which are runs that only differ in their seeds, and a line per experiment."""

import hashlib
import json
import math
import re
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from algorithms.hyperparameters import number_text
from benchmark.metrics import Metric, objective
from benchmark.plan.experiment import items_of_the_paper
from benchmark.records.data_identity import split_by_code, split_by_metric_code
from benchmark.records.record import SIZES, RunRecord, dataset_label, stream_name
from benchmark.results.frames import COST, PREFIX, cost, means, setting_texts
from data_pipelines.data_label import DataKind, DataLabel, data_label
from data_pipelines.prepare.prepared import NotPreparedError, data_folder, read_sealed_manifest
from data_pipelines.support.text import number_of

LOG_COMMUNICATION, LOG_NEEDED = "log10 of messages sent", "log10 of messages needed"
"""MLflow's scatter chart has no logarithmic axis; it is the logarithm of 1 + their number, so 0 is no communication."""

COMMUNICATION, PER_CLIENT, FULL_PER_CLIENT = "communication", "transfers per client", "full transfers per client"
NEEDED_PER_CLIENT = "needed transfers per client"
SEEDS, SECONDS = "seeds", "running time in seconds"
RUNS, SETTINGS = "finished runs", "settings"
NUMBERS = (
    *(LOG_COMMUNICATION, LOG_NEEDED, COMMUNICATION, PER_CLIENT, NEEDED_PER_CLIENT, FULL_PER_CLIENT),
    *(SEEDS, SECONDS, RUNS, SETTINGS),
)
NOT_IN_NAMES = re.compile(r"[^\w .\-/]")
"""Characters that MLflow refuses in the name of a metric."""

METHOD = "Method"
"""The tag by which pages group settings."""

NOTE = "mlflow.note.content"
FORMAT = 2
"""Increased when the content of the pages changes: then all are rewritten once."""


@dataclass(frozen=True)
class Setting:
    """A method with its hyper-parameters on a stream, and its runs.

    Args:
        key: the same for the same setting on the same data, in every process.
        text: its hyper-parameters, as far as they differ within the experiment, such as γ=5.
        runs: the latest run of each seed, by seed.
        run_ids: the ids of all its finished runs, with earlier ones of the same seeds.
        stream: the name of its stream for people; streams of one name that differ in their sizes state them.
        label: the warning to show with every result on its data; empty if they are official and complete.
        own_metrics: the metrics of the user that its experiment has, by name.
    """

    key: str
    text: str
    stream: str
    runs: tuple[RunRecord, ...]
    run_ids: tuple[str, ...]
    label: DataLabel = field(default_factory=DataLabel)
    own_metrics: Mapping[str, Metric] = field(default_factory=dict)

    @property
    def first(self) -> RunRecord:
        """Any run of the setting."""
        return self.runs[0]

    @property
    def method(self) -> str:
        """The name of its method for people, with its hyper-parameters."""
        return f"{self.first.method.info.label} {self.text}".strip()

    @property
    def data(self) -> str:
        """The name of its stream for people, with the kind of the warning."""
        return self.stream + (f" ({self.label.kind})" if self.label.kind else "")

    @property
    def objective(self) -> Metric:
        """The metric by which it is judged."""
        return objective([self.first.stream.source])

    @property
    def name(self) -> str:
        """Method, hyper-parameters, stream and number of seeds."""
        return f"{self.method} on {self.data}, {number_of(len(self.runs), 'seed')}"

    @cached_property
    def values(self) -> dict[str, float]:
        """Its means by the names that MLflow's pages show, with 95 % intervals; those not defined are left out."""
        name, goal = self.objective.name, metric_name(self.objective)
        columns = {
            metric: [run.metrics.get(metric, math.nan) for run in self.runs]
            for metric in (name, "communication", "needed", "kernel_seconds", *self.own_metrics)
        }
        clients = [float(run.stream.size("clients")) for run in self.runs]
        row = means({**columns, COST: [cost(run) for run in self.runs], "clients": clients})
        many = row["clients"] or math.nan
        values = {
            goal: row[name],
            f"{goal} low": row[f"{name}_low"],
            f"{goal} high": row[f"{name}_high"],
            SEEDS: float(len(self.runs)),
            LOG_COMMUNICATION: math.log10(1 + row["communication"]),
            LOG_NEEDED: math.log10(1 + row["needed"]),
            PER_CLIENT: row["communication"] / many,
            NEEDED_PER_CLIENT: row["needed"] / many,
            FULL_PER_CLIENT: row[COST],
            COMMUNICATION: row["communication"],
            SECONDS: row["kernel_seconds"],
            **{shown: row[column] for column, shown in self.own_names.items()},
        }
        return {name: value for name, value in values.items() if math.isfinite(value)}

    @property
    def own_names(self) -> dict[str, str]:
        """The names that MLflow's pages show of the metrics of the user and the ends of their intervals, by column."""
        ends = (("", ""), ("_low", " low"), ("_high", " high"))
        pairs = [(name, metric_name(metric)) for name, metric in self.own_metrics.items()]
        return {f"{name}{end}": f"{shown}{word}" for name, shown in pairs for end, word in ends}

    @property
    def data_key(self) -> Hashable:
        """The same for settings on the same data: other options of a stream, such as its pools, make other data."""
        options = {name: value for name, value in self.first.configuration.items() if name.startswith(PREFIX)}
        return self.data, frozenset(options.items())

    def description(self) -> str:
        """Describe the setting and its means in plain text."""
        values, goal = self.values, metric_name(self.objective)
        seeds = f"mean over {len(self.runs)} seeds" if len(self.runs) > 1 else "one seed"
        if f"{goal} low" in values:
            seeds += f", 95 % interval {values[f'{goal} low']:.4g} to {values[f'{goal} high']:.4g}"
        result = f"{goal} {values[goal]:.4g} ({seeds})" if goal in values else f"no {goal}"
        per_client = f", {values[PER_CLIENT]:,.4g} transfers per client" if PER_CLIENT in values else ""
        warning = f"{self.label}. " if self.label else ""
        return (
            f"{warning}{self.method} on {self.data}: {result}{per_client}. "
            "The runs of the seeds are nested below this one."
        )

    @property
    def digest(self) -> str:
        """The hash of what a page about it is made from."""
        runs = [self.name, self.label, [run.run_id for run in self.runs], sorted(self.run_ids)]
        own = [sorted((name, own.code, own.metric.label) for name, own in run.own_metrics.items()) for run in self.runs]
        return digest_of([*runs, own] if self.own_metrics else runs)


def line_of(
    experiment: str, about: str, settings: Sequence[Setting], runs: int, link: str, left_out: Sequence[str]
) -> tuple[str, dict[str, str], dict[str, float]]:
    """Return the line of an experiment in the overview: its title, tags and numbers.

    Its best setting is that on the data with most settings, as means on different data are not compared; without such
    data it has none.

    Args:
        experiment: its name.
        about: its title and description, in plain text.
        settings: its settings.
        runs: the number of its finished runs.
        link: where its chart is.
        left_out: sentences on finished runs that no setting includes.
    """
    title, of_data = about.partition(". ")[0].rstrip("."), by_data(settings)
    sizes = [len(each) for each in of_data]
    best = best_of(of_data[0]) if sizes and sizes.count(sizes[0]) == 1 else None
    values = {RUNS: float(runs), SETTINGS: float(len(settings))}
    if settings:
        values[SEEDS] = float(max(len(setting.runs) for setting in settings))
    goal = metric_name(best.objective) if best else ""
    labels = dict.fromkeys(each.label for each in settings)
    is_generated = any(label.kind == DataKind.STAND_IN for label in labels)
    leaders = filter(None, map(best_of, of_data))
    sentences = [*labels, *(f"Best setting: {each.description()}" for each in leaders), *left_out]
    title = f"{DataKind.STAND_IN}: {title}" if is_generated else title
    tags = {
        "Experiment": experiment,
        "Data": "; ".join(dict.fromkeys(each[0].data for each in of_data)),
        "Methods": ", ".join(dict.fromkeys(setting.first.method.info.label for setting in settings)),
        "Best": best.method if best else "–",
        "Best result": f"{four_digits(best.values[goal])} {goal}" if best else "–",
        "Transfers per client": four_digits(best.values[PER_CLIENT]) if best and PER_CLIENT in best.values else "–",
        "Seeds": f"{values.get(SEEDS, 0):.0f}",
        NOTE: "\n\n".join([about, f"[Open the chart of {experiment}]({link})", *filter(None, sentences)]),
    }
    return f"{title} ({experiment})" if title else experiment, tags, values


def order_of(experiment: str, *, is_board: bool) -> str:
    """Return the place of an experiment in the overview: the paper's figures and tables, studies, boards, others."""
    items = items_of_the_paper()
    if item := items.get(experiment):
        return f"1 {item}"
    return f"{2 if experiment in items else 3 if is_board else 4} {experiment}"


def shown_with(data: str) -> str:
    """Return the text by which runs are found that are shown with these data; MLflow's filters allow no quotes."""
    return f"[{data}]".replace("'", "")


def by_data(settings: Sequence[Setting]) -> list[list[Setting]]:
    """Return the settings on the same data, those with most settings first."""
    groups: dict[Hashable, list[Setting]] = defaultdict(list)
    for setting in settings:
        groups[setting.data_key].append(setting)
    return sorted(groups.values(), key=len, reverse=True)


def best_of(settings: Sequence[Setting]) -> Setting | None:
    """Return the best setting of a contender on the same data, or of any method without one; None without a value."""
    rated = [setting for setting in settings if metric_name(setting.objective) in setting.values]
    contenders = [setting for setting in rated if setting.first.method.info.role == "contender"] or rated
    if not contenders:
        return None
    goal = contenders[0].objective
    return max(contenders, key=lambda setting: goal.sign * setting.values[metric_name(goal)])


def settings_of(records: Sequence[RunRecord]) -> list[Setting]:
    """Return the settings of finished runs of one experiment, given in the order in which they ended.

    Runs by earlier code of a method have none, nor have those on seeds that choose settings.
    """
    groups: dict[str, list[RunRecord]] = defaultdict(list)
    current, own, _ = split_by_metric_code(split_by_code(records)[0])
    for record in current:
        if record.purpose == "report":
            groups[setting_key(record)].append(record)
    latest = [runs[-1] for runs in groups.values()]
    texts = setting_texts(latest, [stream_name(run.stream) for run in latest], hidden=SIZES)
    labels = {data: label_of(*data) for data in {_data(run) for run in latest}}
    settings = []
    for (key, runs), text, stream in zip(groups.items(), texts, _streams(latest), strict=True):
        by_seed = {run.seed: run for run in runs}
        of_seeds = tuple(by_seed[seed] for seed in sorted(by_seed))
        run_ids = tuple(run.run_id for run in runs)
        settings.append(Setting(key, text, stream, of_seeds, run_ids, labels[_data(runs[-1])], own))
    return settings


def setting_key(record: RunRecord) -> str:
    """Return a key that is equal for runs on the same data that only differ in their seed."""
    stream = record.stream
    values = {name: number_text(value) for name, value in record.configuration.items()}
    return digest_of([stream_name(stream), _data(record), record.method.name, values])


def four_digits(value: float) -> str:
    """Return a number with four digits."""
    return f"{float(f'{value:.4g}'):,.10g}"


def metric_name(metric: Metric) -> str:
    """Return the label of a metric as MLflow accepts it."""
    return NOT_IN_NAMES.sub("", metric.label).strip()


def digest_of(content: Any) -> str:
    """Hash what a page is made from."""
    return hashlib.sha256(json.dumps([FORMAT, content], sort_keys=True).encode()).hexdigest()[:32]


def _data(run: RunRecord) -> tuple[str, str, str]:
    return run.stream.name, run.stream.source, run.stream.prepared


def label_of(name: str, source: str, prepared: str) -> DataLabel:
    """Return the warning to show with results on these data; empty if they are official and complete."""
    try:
        manifest = dict(read_sealed_manifest(data_folder() / name))
    except NotPreparedError:
        manifest = {}
    return data_label(source, manifest if manifest.get("fingerprint") == prepared else None)


def _streams(runs: Sequence[RunRecord]) -> list[str]:
    """Return the name of the stream of each setting, given one of its runs, with the sizes in which streams differ."""
    names = [dataset_label(stream_name(run.stream)) for run in runs]
    sizes = [{size: run.configuration.get(f"stream_{size}") for size in SIZES} for run in runs]
    distinct: dict[tuple[str, str], set[Any]] = defaultdict(set)
    for name, values in zip(names, sizes, strict=True):
        for size, value in values.items():
            distinct[name, size].add(value)
    streams = []
    for name, values in zip(names, sizes, strict=True):
        known = {size: value for size, value in values.items() if value is not None}
        differing = ", ".join(f"{size}={value}" for size, value in known.items() if len(distinct[name, size]) > 1)
        streams.append(f"{name} ({differing})" if differing else name)
    return streams
