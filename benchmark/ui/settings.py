"""What MLflow's pages show: settings, which are runs that only differ in their seeds, and a line per experiment."""

import hashlib
import json
import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from benchmark.metrics import Metric, objective
from benchmark.records.data_identity import split_by_code
from benchmark.records.record import SIZES, RunRecord, dataset_label, encoded, stream_name
from benchmark.results.frames import COST, cost, means, setting_texts
from data_pipelines.data_label import DataLabel, data_label
from data_pipelines.prepare.prepared import NotPreparedError, data_folder, read_sealed_manifest

LOG_COMMUNICATION = "log10 of communication"
"""MLflow's scatter chart has no logarithmic axis; it is the logarithm of 1 + C_T, so 0 means no communication."""

COMMUNICATION, PER_CLIENT, FULL_PER_CLIENT = "communication", "transfers per client", "full transfers per client"
SEEDS, SECONDS = "seeds", "running time in seconds"
RUNS, SETTINGS = "finished runs", "settings"
NOT_IN_NAMES = re.compile(r"[^\w .\-/]")
"""Characters that MLflow refuses in the name of a metric."""


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
    """

    key: str
    text: str
    stream: str
    runs: tuple[RunRecord, ...]
    run_ids: tuple[str, ...]
    label: DataLabel = field(default_factory=DataLabel)

    @property
    def first(self) -> RunRecord:
        """Any run of the setting."""
        return self.runs[0]

    @property
    def is_reported(self) -> bool:
        """Whether its seeds report; otherwise they choose settings."""
        return self.first.purpose == "report"

    @property
    def method(self) -> str:
        """The name of its method for people."""
        return self.first.method.info.label

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
        seeds = f"{len(self.runs)} seed{'s' * (len(self.runs) > 1)}{'' if self.is_reported else ' for choosing'}"
        return f"{' '.join(filter(None, (self.method, self.text)))} on {self.data}, {seeds}"

    @cached_property
    def means(self) -> dict[str, float]:
        """The means over its seeds, and the ends of their 95 % intervals; NaN where there is none."""
        names = (self.objective.name, "communication", "kernel_seconds")
        columns = {name: [run.metrics.get(name, math.nan) for run in self.runs] for name in names}
        clients = [float(run.stream.size("clients")) for run in self.runs]
        return means({**columns, COST: [cost(run) for run in self.runs], "clients": clients})

    def values(self) -> dict[str, float]:
        """Return its means by the names that MLflow's pages show; those that are not defined are left out."""
        row, name, goal = self.means, self.objective.name, metric_name(self.objective)
        values = {
            goal: row[name],
            f"{goal} low": row[f"{name}_low"],
            f"{goal} high": row[f"{name}_high"],
            SEEDS: float(len(self.runs)),
            LOG_COMMUNICATION: math.log10(1 + row["communication"]),
            PER_CLIENT: row["communication"] / row["clients"] if row["clients"] > 0 else math.nan,
            FULL_PER_CLIENT: row[COST],
            COMMUNICATION: row["communication"],
            SECONDS: row["kernel_seconds"],
        }
        return {name: value for name, value in values.items() if math.isfinite(value)}

    def interval_names(self) -> tuple[str, str]:
        """Return the names of the ends of its interval, which it may not have."""
        goal = metric_name(self.objective)
        return f"{goal} low", f"{goal} high"

    def description(self) -> str:
        """Describe the setting and its means in plain text."""
        values, goal = self.values(), metric_name(self.objective)
        seeds = f"mean over {len(self.runs)} seeds" if len(self.runs) > 1 else "one seed"
        if f"{goal} low" in values:
            seeds += f", 95 % interval {values[f'{goal} low']:.4g} to {values[f'{goal} high']:.4g}"
        result = f"{goal} {values[goal]:.4g} ({seeds})" if goal in values else f"no {goal}"
        per_client = f", {values[PER_CLIENT]:,.4g} transfers per client" if PER_CLIENT in values else ""
        warning = f"{self.label}. " if self.label else ""
        purpose = "" if self.is_reported else " These seeds choose settings; no result is reported on them."
        return (
            f"{warning}{' '.join(filter(None, (self.method, self.text)))} on {self.data}: {result}{per_client}."
            f"{purpose} The runs of the seeds are nested below this one."
        )

    def digest(self, version: int) -> str:
        """Hash what a page about it is made from."""
        return _digest([version, self.name, self.label, [run.run_id for run in self.runs], sorted(self.run_ids)])


@dataclass(frozen=True)
class Line:
    """The line of an experiment.

    Args:
        experiment: its name.
        about: its title and description, in plain text.
        settings: its reported settings.
        runs: the number of its finished runs.
        link: where its chart is.
        left_out: sentences on finished runs that no setting includes.
    """

    experiment: str
    about: str
    settings: Sequence[Setting]
    runs: int
    link: str
    left_out: Sequence[str] = ()

    @property
    def name(self) -> str:
        """The title and the name of the experiment."""
        title = self.about.partition(". ")[0].rstrip(".")
        return f"{title} ({self.experiment})" if title else self.experiment

    @property
    def best(self) -> Setting | None:
        """The best setting of a contender, or of any method if there is none; None without a value."""
        rated = [setting for setting in self.settings if math.isfinite(setting.means[setting.objective.name])]
        contenders = [setting for setting in rated if setting.first.method.info.role == "contender"] or rated
        names = {setting.objective.name for setting in contenders}
        if len(names) != 1:  # simulated and real streams are not compared
            return None
        return max(contenders, key=lambda setting: setting.objective.sign * setting.means[setting.objective.name])

    def values(self) -> dict[str, float]:
        """Return the headline numbers."""
        values = {RUNS: float(self.runs), SETTINGS: float(len(self.settings))}
        if self.settings:
            values[SEEDS] = float(max(len(setting.runs) for setting in self.settings))
        if (best := self.best) is not None:
            means = best.values()
            values[f"best {metric_name(best.objective)}"] = means[metric_name(best.objective)]
            if PER_CLIENT in means:
                values[f"{PER_CLIENT} of the best"] = means[PER_CLIENT]
        return values

    def tags(self) -> dict[str, str]:
        """Return the tags to show first."""
        best = self.best
        return {
            "Experiment": self.experiment,
            "Data": "; ".join(dict.fromkeys(setting.data for setting in self.settings)),
            "Methods": ", ".join(dict.fromkeys(setting.method for setting in self.settings)),
            "Best": f"{best.method} {best.text}".strip() if best else "–",
        }

    def description(self) -> str:
        """Describe the experiment; a link leads to its chart."""
        best = self.best
        sentence = f"\n\nBest setting: {best.description()}" if best else ""
        labels = dict.fromkeys(each.label for each in self.settings)
        warnings = "".join(f"\n\n{text}" for text in (*labels, *self.left_out) if text)
        return f"{self.about}\n\n[Open the chart of {self.experiment}]({self.link}){sentence}{warnings}"

    def digest(self, version: int) -> str:
        """Hash its content."""
        return _digest([version, self.name, self.values(), self.tags(), self.description()])


def settings_of(records: Sequence[RunRecord]) -> list[Setting]:
    """Return the settings of finished runs of one experiment, given in the order in which they ended.

    Runs by earlier code of a method have none.
    """
    records, _ = split_by_code(records)
    groups: dict[str, list[RunRecord]] = defaultdict(list)
    for record in records:
        groups[setting_key(record)].append(record)
    examples = {key: runs[0] for key, runs in groups.items()}
    names = [stream_name(run.stream) for run in examples.values()]
    texts = dict(zip(examples, setting_texts([*examples.values()], names, hidden=SIZES), strict=True))
    streams = _streams(examples)
    settings = []
    labels: dict[tuple[str, str, str], DataLabel] = {}
    for key, runs in groups.items():
        latest = {run.seed: run for run in runs}
        data = (runs[-1].stream.name, runs[-1].stream.source, runs[-1].stream.prepared)
        label = labels[data] if data in labels else labels.setdefault(data, label_of(*data))
        by_seed = tuple(latest[seed] for seed in sorted(latest))
        run_ids = tuple(run.run_id for run in runs)
        settings.append(Setting(key, texts[key], streams[key], by_seed, run_ids, label))
    return settings


def setting_key(record: RunRecord) -> str:
    """Return a key that is equal for runs on the same data that only differ in their seed, for the same purpose."""
    stream, method = record.stream, record.method
    return _digest(
        [stream_name(stream), stream.source, stream.prepared, method.name, record.purpose]
        + [[name, _plain(value)] for name, value in record.configuration.items()]
    )


def metric_name(metric: Metric) -> str:
    """Return the label of a metric as MLflow accepts it."""
    return NOT_IN_NAMES.sub("", metric.label).strip()


def label_of(name: str, source: str, prepared: str) -> DataLabel:
    """Return the warning to show with results on these data; empty if they are official and complete."""
    return data_label(source, _manifest(name, prepared))


def _manifest(name: str, prepared: str) -> dict[str, Any] | None:
    """Return the manifest of a data set, if the data prepared now are those of a run."""
    try:
        manifest = dict(read_sealed_manifest(data_folder() / name))
    except NotPreparedError:
        return None
    return manifest if manifest.get("fingerprint") == prepared else None


def _streams(runs: Mapping[str, RunRecord]) -> dict[str, str]:
    """Return the name of each setting's stream, given one of its runs, with the sizes in which streams differ."""
    groups: dict[str, list[str]] = defaultdict(list)
    for key, run in runs.items():
        groups[dataset_label(stream_name(run.stream))].append(key)
    names = {}
    for name, keys in groups.items():
        sizes = {key: {size: runs[key].configuration.get(f"stream_{size}") for size in SIZES} for key in keys}
        differing = [size for size in SIZES if len({values[size] for values in sizes.values()}) > 1]
        for key in keys:
            values = ", ".join(f"{size}={sizes[key][size]}" for size in differing if sizes[key][size] is not None)
            names[key] = f"{name} ({values})" if values else name
    return names


def _plain(value: Any) -> Any:
    """Return a value for JSON that is the same for equal numbers, whatever their type."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:.10g}"
    return [_plain(element) for element in value] if isinstance(value, list | tuple) else encoded(value)


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]
