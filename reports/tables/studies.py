"""Studies: the effect of one setting, with all others held constant, on the same seeds."""

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from benchmark.metrics import Metric, objective
from benchmark.plan.algorithm_names import number_text
from benchmark.plan.experiment import Experiment, load_experiment
from benchmark.records.record import Configuration
from benchmark.statistics.paired import mean_interval
from reports.labels import algorithm_label, dataset_label
from reports.read.context import Context
from reports.read.differences import PREFIX, Words, describe, differing_names, value_text
from reports.read.experiment_files import effects_of
from reports.read.results import Results
from reports.subjects import STUDIES
from reports.write.table import Table, with_cut_intervals

ORDER = 15
NO_VALUES = pd.Series(dtype=float)


def tables(results: Results, context: Context) -> list[Table]:
    """Return a table for each study: an experiment whose file has `effects_of`."""
    return [
        _table(load_experiment(name), results.runs[results.runs["experiment"] == name], context)
        for name in results.experiments()
        if effects_of(name)
    ]


def _table(experiment: Experiment, runs: pd.DataFrame, context: Context) -> Table:
    metric = objective(runs["source"])
    baseline = experiment.baseline()
    caption = (
        f"{experiment.description} Means over seeds with 95 % Student t intervals. Difference: from the baseline "
        f"({_setting_text(baseline, experiment.words)}) at the same threshold, paired by seed."
    )
    labels = context.labels(runs)
    frame = pd.DataFrame(_rows(runs, baseline, metric, experiment.words))
    constant = [name for name in ("algorithm", "held constant") if frame[name].nunique() == 1]
    frame = frame.drop(columns=constant)
    table = Table(experiment.name, experiment.title, caption, frame, labels, (experiment.name,), subject=STUDIES)
    return with_cut_intervals(table, "C_T")


def _rows(runs: pd.DataFrame, baseline: Mapping[str, str], metric: Metric, words: Words) -> Iterator[dict[str, Any]]:
    effects = [_setting_text(_effects(family, baseline), words) for family in runs["family"]]
    runs = runs.assign(effect=effects, equal=_held_constant(runs, baseline, words))
    default = _setting_text(baseline, words)
    for key, part in runs.groupby(["stream", "algorithm", "equal", "threshold"], dropna=False):
        dataset, algorithm, held, threshold = key
        by_seed = {str(effect): values.set_index("seed") for effect, values in part.groupby("effect")}
        first = by_seed.get(default)
        for effect, values in sorted(by_seed.items(), key=lambda item: (item[0] != default, item[0])):
            row: dict[str, Any] = {"data": dataset_label(str(dataset)), "algorithm": algorithm_label(str(algorithm))}
            row |= {"held constant": held, "threshold": float(str(threshold)), "setting": effect, "seeds": len(values)}
            row |= _interval(metric.label, values[metric.name])
            differences = NO_VALUES if first is None or effect == default else _difference(values, first, metric.name)
            row |= _interval("difference", differences)
            yield row | _interval("C_T", values["communication"])


def _difference(values: pd.DataFrame, baseline: pd.DataFrame, name: str) -> "pd.Series[float]":
    return (values[name] - baseline[name]).dropna()


def _interval(name: str, values: "pd.Series[float]") -> dict[str, float]:
    return dict(zip((name, f"{name}_low", f"{name}_high"), mean_interval(values), strict=True))


def _setting_text(setting: Mapping[str, str], words: Words) -> str:
    return ", ".join(value_text(name, value, words) for name, value in setting.items())


def _effects(family: Configuration, baseline: Mapping[str, str]) -> dict[str, str]:
    """Return the values of the settings that a study compares; an older record may lack one, which has its baseline."""
    values = {name: family.get(name, family.get(f"{PREFIX}{name}")) for name in baseline}
    return {name: text if values[name] is None else number_text(values[name]) for name, text in baseline.items()}


def _held_constant(runs: pd.DataFrame, baseline: Mapping[str, str], words: Words) -> list[str]:
    """Describe for each run the other settings in which the runs of its algorithm and data set differ."""
    hidden = {*baseline, *(f"{PREFIX}{name}" for name in baseline)}
    streams = list(zip(runs["stream"], runs["algorithm"], strict=True))
    others = [family.without(*hidden) for family in runs["family"]]
    names = {
        stream: differing_names({other for other, own in zip(others, streams, strict=True) if own == stream})
        for stream in set(streams)
    }
    return [describe(other, names[stream], words) for other, stream in zip(others, streams, strict=True)]
