"""Studies: the effect of one setting with all others held constant, and of how data are prepared, on the same seeds."""

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from algorithms.hyperparameters import number_text
from benchmark.metrics import Metric, objective
from benchmark.plan.experiment import Experiment, load_experiment
from benchmark.records.record import Configuration
from benchmark.results.frames import PREFIX, Words, describe, differing_names, means, value_text
from reports.labels import Methods, dataset_label
from reports.paper import paper
from reports.read.results import Results, effects_of
from reports.subjects import STUDIES
from reports.write.table import Table, make_table

ORDER = 15
NO_VALUES = pd.Series(dtype=float)


def tables(results: Results) -> list[Table]:
    """Return a table for each study, an experiment whose file has `effects_of`, then those of the ablations."""
    studies = [_table(load_experiment(name), results) for name in results.experiments() if effects_of(name)]
    return studies + ablation_tables(results)


def _table(experiment: Experiment, results: Results) -> Table:
    runs = results.runs_of(experiment.name)
    metric = objective(runs["source"])
    baseline = experiment.baseline()
    caption = (
        f"{experiment.description} Means over seeds with 95 % Student t intervals. Difference: from the baseline "
        f"({_setting_text(baseline, experiment.words)}) at the same threshold, paired by seed."
    )
    labels = results.labels(runs)
    frame = pd.DataFrame(_rows(runs, baseline, metric, experiment.words, results.methods))
    constant = [name for name in ("algorithm", "held constant") if frame[name].nunique() == 1]
    frame = frame.drop(columns=constant)
    about: dict[str, Any] = {"experiments": (experiment.name,), "subject": STUDIES}
    return make_table(experiment.name, experiment.title, caption, frame, labels, counts=["C_T"], **about)


def _rows(
    runs: pd.DataFrame, baseline: Mapping[str, str], metric: Metric, words: Words, methods: Methods
) -> Iterator[dict[str, Any]]:
    effects = [_setting_text(_effects(family, baseline), words) for family in runs["family"]]
    runs = runs.assign(effect=effects, equal=_held_constant(runs, baseline, words))
    default = _setting_text(baseline, words)
    for key, part in runs.groupby(["stream", "algorithm", "equal", "threshold"], dropna=False):
        dataset, method, held, threshold = key
        by_seed = {str(effect): values.set_index("seed") for effect, values in part.groupby("effect")}
        first = by_seed.get(default)
        for effect, values in sorted(by_seed.items(), key=lambda item: (item[0] != default, item[0])):
            row: dict[str, Any] = {"data": dataset_label(str(dataset)), "algorithm": methods.label(str(method))}
            row |= {"held constant": held, "threshold": float(str(threshold)), "setting": effect, "seeds": len(values)}
            goal = values[metric.name]
            difference = NO_VALUES if first is None or effect == default else (goal - first[metric.name]).dropna()
            yield row | means({metric.label: goal, "difference": difference, "C_T": values["communication"]})


def _setting_text(setting: Mapping[str, str], words: Words) -> str:
    return ", ".join(value_text(name, value, words) for name, value in setting.items())


def _effects(family: Configuration, baseline: Mapping[str, str]) -> dict[str, str]:
    """Return the values of the settings that a study compares; an older record may lack one, which has its baseline."""
    values = {name: family.get(name, family.get(f"{PREFIX}{name}")) for name in baseline}
    return {name: text if values[name] is None else number_text(values[name]) for name, text in baseline.items()}


def _held_constant(runs: pd.DataFrame, baseline: Mapping[str, str], words: Words) -> list[str]:
    """Describe for each run the other settings in which the runs of its method and data set differ."""
    hidden = {*baseline, *(f"{PREFIX}{name}" for name in baseline)}
    streams = list(zip(runs["stream"], runs["algorithm"], strict=True))
    others = [family.without(*hidden) for family in runs["family"]]
    names = {
        stream: differing_names({other for other, own in zip(others, streams, strict=True) if own == stream})
        for stream in set(streams)
    }
    return [describe(other, names[stream], words) for other, stream in zip(others, streams, strict=True)]


def ablation_tables(results: Results) -> list[Table]:
    """Return a table for each experiment that paper.toml declares as an ablation: why answers depend on the data."""
    return [
        _ablation_table(experiment, results)
        for experiment in paper()["ablations"]["experiments"]
        if experiment in results.experiments()
    ]


def _ablation_table(experiment: str, results: Results) -> Table:
    runs = results.runs_of(experiment)
    caption = (
        "Normalised reward without communication and with the most frequent communication of each method, on data that "
        "differ in one property, and their difference, paired by seed: means with 95 % intervals."
    )
    order = {stream: number for number, stream in enumerate(runs["stream"].unique())}
    ordered = runs.sort_values("stream", key=lambda names: names.map(order), kind="stable")
    frame = pd.DataFrame(_ablation_rows(ordered, results.methods))
    title, labels = results.about(experiment).title, results.labels(runs)
    return Table(experiment, title, caption, frame, labels, (experiment,), subject=STUDIES)


def _ablation_rows(runs: pd.DataFrame, methods: Methods) -> Iterator[dict[str, Any]]:
    for (stream, method), part in runs.groupby(["stream", "algorithm"], sort=False):
        least, most = (part["threshold"].agg(end) for end in ("min", "max"))
        often, alone = (
            part[part["threshold"] == value].set_index("seed")["normalised_reward"] for value in (least, most)
        )
        difference = (alone - often).dropna()
        name = str(method)
        fronts = {methods.front_text(name, least): often, methods.front_text(name, most): alone}
        row: dict[str, Any] = {"data": dataset_label(str(stream)), "algorithm": methods.label(name)}
        yield row | means({**fronts, "difference": difference}) | {"seeds": len(difference)}
