"""Studies: what one setting is worth, all else equal, on the same seeds."""

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from benchmark.experiment import Experiment, load_experiment
from reports.context import Context
from reports.experiment_files import effects_of
from reports.labels import algorithm_label, dataset_label
from reports.results import Results
from reports.seeds import mean_interval
from reports.table import Table

ORDER = 15
NO_VALUES = pd.Series(dtype=float)


def tables(results: Results, context: Context) -> list[Table]:
    """Return a table for each study: an experiment whose file has `effects_of`."""
    made = []
    for name in results.experiments():
        if effects_of(name):
            made.append(_table(load_experiment(name), results.runs[results.runs["experiment"] == name], context))
    return made


def _table(experiment: Experiment, runs: pd.DataFrame, context: Context) -> Table:
    metric = "regret" if (runs["source"] == "simulated").any() else "normalised_reward"
    baseline = experiment.baseline()
    usual = ", ".join(f"{name}={value}" for name, value in baseline.items())
    caption = (
        f"{experiment.description} Means over seeds with 95 % Student t intervals. Difference: to {usual} at the same "
        f"threshold on the same seeds, its interval that of the paired differences."
    )
    labels = context.labels(runs)
    frame = pd.DataFrame(_rows(runs, baseline, metric))
    same = [name for name in ("algorithm", "held equal") if frame[name].nunique() == 1]
    return Table(experiment.name, experiment.title, caption, frame.drop(columns=same), labels, (experiment.name,))


def _rows(runs: pd.DataFrame, baseline: Mapping[str, str], metric: str) -> Iterator[dict[str, Any]]:
    settings = [_settings(variant) for variant in runs["variant"]]
    effects = [", ".join(f"{name}={each.get(name, baseline[name])}" for name in baseline) for each in settings]
    equal = [", ".join(f"{name}={value}" for name, value in each.items() if name not in baseline) for each in settings]
    runs = runs.assign(effect=effects, equal=equal)
    usual = ", ".join(f"{name}={value}" for name, value in baseline.items())
    for place, same in runs.groupby(["dataset", "algorithm", "equal", "threshold"], dropna=False):
        dataset, algorithm, held, threshold = place
        by_seed = {str(effect): each.set_index("seed") for effect, each in same.groupby("effect")}
        first = by_seed.get(usual)
        for effect, each in sorted(by_seed.items(), key=lambda item: (item[0] != usual, item[0])):
            row: dict[str, Any] = {"data": dataset_label(str(dataset)), "algorithm": algorithm_label(str(algorithm))}
            row |= {"held equal": held, "threshold": float(str(threshold)), "setting": effect, "seeds": len(each)}
            row |= _interval(metric.replace("_", " "), each[metric])
            paired = NO_VALUES if first is None or effect == usual else (each[metric] - first[metric]).dropna()
            row |= _interval("difference", paired)
            yield row | _interval("C_T", each["communication"])


def _interval(name: str, values: "pd.Series[float]") -> dict[str, float]:
    return dict(zip((name, f"{name}_low", f"{name}_high"), mean_interval(values), strict=True))


def _settings(variant: str) -> dict[str, str]:
    """Read what differs between the runs of an experiment: `name=value, name=value`."""
    return dict(part.split("=", 1) for part in variant.split(", ") if part)
