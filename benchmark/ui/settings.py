"""Settings: runs that only differ in their seeds, and their means."""

import hashlib
import json
import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmark.metrics import Metric, objective
from benchmark.records.data_identity import data_versions, split_by_code
from benchmark.records.record import SIZES, RunRecord, encoded
from benchmark.records.stream_names import dataset_label, stream_name
from benchmark.results.frames import cost, interval, setting_names
from data_pipelines.data_label import LABELS, data_label
from data_pipelines.prepare.prepared import NotPreparedError, data_folder, read_sealed_manifest

LOG_COMMUNICATION = "log10 of communication"
"""MLflow's scatter chart has no logarithmic axis; it is the logarithm of 1 + C_T, so 0 means no communication."""

COMMUNICATION, PER_CLIENT, FULL_PER_CLIENT = "communication", "transfers per client", "full transfers per client"
SEEDS, SECONDS = "seeds", "running time in seconds"
MAX_TEXT = 120
"""Characters of the text of a setting."""

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
    label: str = ""

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
        return self.first.method.card.label

    @property
    def data(self) -> str:
        """The name of its stream for people, with the kind of the warning."""
        kind = next((kind for kind in LABELS if self.label.startswith(kind)), "")
        return self.stream + (f" ({kind})" if kind else "")

    @property
    def objective(self) -> Metric:
        """The metric by which it is judged."""
        return objective([self.first.stream.source])

    @property
    def name(self) -> str:
        """Method, hyper-parameters, stream and number of seeds."""
        seeds = f"{len(self.runs)} seed{'s' * (len(self.runs) > 1)}{'' if self.is_reported else ' for choosing'}"
        return f"{' '.join(filter(None, (self.method, self.text)))} on {self.data}, {seeds}"

    def mean(self, name: str) -> tuple[float, float, float]:
        """Return the mean of a metric over the seeds, and its 95 % interval; NaN where there is none."""
        return interval([run.metrics.get(name, math.nan) for run in self.runs])

    def values(self) -> dict[str, float]:
        """Return its means by the names that MLflow's pages show; those that are not defined are left out."""
        goal = metric_name(self.objective)
        mean, low, high = self.mean(self.objective.name)
        communication = self.mean("communication")[0]
        clients = _mean([run.stream.size("clients") for run in self.runs])
        values = {
            goal: mean,
            f"{goal} low": low,
            f"{goal} high": high,
            SEEDS: float(len(self.runs)),
            LOG_COMMUNICATION: math.log10(1 + communication),
            PER_CLIENT: communication / clients if clients > 0 else math.nan,
            FULL_PER_CLIENT: _mean([cost(run) for run in self.runs]),
            COMMUNICATION: communication,
            SECONDS: self.mean("kernel_seconds")[0],
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


def settings_of(records: Sequence[RunRecord]) -> list[Setting]:
    """Return the settings of finished runs of one experiment, given in the order in which they ended.

    Runs by earlier code of a method have none.
    """
    records, _ = split_by_code(records)
    groups: dict[str, list[RunRecord]] = defaultdict(list)
    for record, version in zip(records, data_versions(records), strict=True):
        groups[setting_key(record, version)].append(record)
    examples = {key: runs[0] for key, runs in groups.items()}
    texts, streams = _texts(examples), _streams(examples)
    settings = []
    labels: dict[tuple[str, str, str], str] = {}
    for key, runs in groups.items():
        latest = {run.seed: run for run in runs}
        data = (runs[-1].stream.name, runs[-1].stream.source, runs[-1].stream.prepared)
        label = labels[data] if data in labels else labels.setdefault(data, label_of(*data))
        by_seed = tuple(latest[seed] for seed in sorted(latest))
        run_ids = tuple(run.run_id for run in runs)
        settings.append(Setting(key, texts[key], streams[key], by_seed, run_ids, label))
    return settings


def setting_key(record: RunRecord, data_version: str) -> str:
    """Return a key that is equal for runs on the same data that only differ in their seed, for the same purpose."""
    stream, method = record.stream, record.method
    return _digest(
        [stream_name(stream), stream.source, data_version, method.name, record.purpose]
        + [[name, _plain(value)] for name, value in record.configuration.items()]
    )


def metric_name(metric: Metric) -> str:
    """Return the label of a metric as MLflow accepts it."""
    return NOT_IN_NAMES.sub("", metric.label).strip()


def label_of(name: str, source: str, prepared: str) -> str:
    """Return the warning to show with results on these data; empty if they are official and complete."""
    return data_label(name, source, _manifest(name, prepared))


def _manifest(name: str, prepared: str) -> dict[str, Any] | None:
    """Return the manifest of a data set, if the data prepared now are those of a run."""
    try:
        manifest = dict(read_sealed_manifest(data_folder() / name))
    except NotPreparedError:
        return None
    return manifest if manifest.get("fingerprint") == prepared else None


def _texts(runs: Mapping[str, RunRecord]) -> dict[str, str]:
    """Return the text of each setting, given one of its runs: the values that differ between those of its method."""
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for key, run in runs.items():
        groups[stream_name(run.stream), run.method.name].append(key)
    texts: dict[str, str] = {}
    for keys in groups.values():
        group = [runs[key] for key in keys]
        values = [{**_without_sizes(run.stream.options), **run.method.parameters} for run in group]
        parameters = {run.method.front_parameter for run in group}
        names = setting_names([_front(run) for run in group], values, parameters)
        texts |= {key: _cut(name) for key, name in zip(keys, names, strict=True)}
    return texts


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


def _without_sizes(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name not in SIZES}


def _front(run: RunRecord) -> str:
    """Return the value on the front with its symbol, such as γ=5; empty without one."""
    value, number = run.method.front_value, run.method.front_number
    if value is None:
        return ""
    text = _cut(str(value)) if math.isnan(number) else "∞" if math.isinf(number) else f"{number:g}"
    return f"{run.method.card.symbol}={text}"


def _cut(text: str) -> str:
    """Shorten a long text, such as one value per client."""
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 1]}…"


def _mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers)


def _plain(value: Any) -> Any:
    """Return a value for JSON that is the same for equal numbers, whatever their type."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:.10g}"
    return [_plain(element) for element in value] if isinstance(value, list | tuple) else encoded(value)


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]
