"""Every setting of an experiment, and the references: means over seeds. None is called best."""

from collections.abc import Iterator
from typing import Any

import pandas as pd

from benchmark.metrics import objective
from benchmark.results.frames import PREFIX, describe, over_seeds
from data_pipelines.stream_spec import DatasetSpec
from reports.figures.fronts import are_lines
from reports.labels import Methods, dataset_label, titled, variant_text
from reports.read.results import Results, effects_of
from reports.subjects import SETTINGS
from reports.write.table import Table, make_table

ORDER = 20
CAPTION = (
    "All settings of the experiment, means over seeds with 95 % Student t intervals. The best one would be chosen "
    "on these seeds and look better than it is; `fedbandit board` shows which method to use within which budget."
)


def tables(results: Results) -> list[Table]:
    """Return all settings of each experiment, then what references earn beside the best method on the same streams."""
    return setting_tables(results) + reference_tables(results)


def setting_tables(results: Results) -> list[Table]:
    """Return a list of settings for each stream of an experiment; studies have tables of their own."""
    groups = results.runs.groupby(["experiment", "dataset", "source"])
    return [
        _table(str(experiment), str(dataset), results.label(str(dataset), str(source)), runs, results)
        for (experiment, dataset, source), runs in groups
        if not effects_of(str(experiment))
    ]


def _table(experiment: str, dataset: str, label: str, runs: pd.DataFrame, results: Results) -> Table:
    metric = objective(runs["source"].unique())
    own = {each.name: each.label for each in results.own_metrics.values() if _has_values(runs, each.name)}
    rows = over_seeds(runs, [metric.name, "communication", *own]).sort_values(["algorithm", "variant", "threshold"])
    columns = {
        "algorithm": rows["algorithm"].map(results.methods.label),
        "variant": rows["variant"].map(variant_text).replace("", "–"),
    }
    if rows["global_dim"].notna().any():
        columns["d_g"] = rows["global_dim"]
    columns |= {"threshold": rows["threshold"], "seeds": rows["seeds"]}
    for column, heading in ((metric.name, metric.label), ("communication", "C_T"), *own.items()):
        columns |= {f"{heading}{end}": rows[f"{column}{end}"] for end in ("", "_low", "_high")}
    title = f"Settings: {titled(results.about(experiment).title, dataset_label(dataset))}"
    about: dict[str, Any] = {"experiments": (experiment,), "subject": SETTINGS, "short_caption": ""}
    frame = pd.DataFrame(columns)
    return make_table(f"settings_{experiment}_{dataset}", title, CAPTION, frame, label=label, counts=["C_T"], **about)


def _has_values(runs: pd.DataFrame, name: str) -> bool:
    return name in runs and bool(runs[name].notna().any())


STREAM_SETTINGS = {name: field.default for name, field in DatasetSpec.model_fields.items() if name != "dataset"}
"""The settings of a stream that is made from a data set, with their defaults."""

NOT_SHOWN = ("arms", "dimension")


def reference_tables(results: Results) -> list[Table]:
    """Return one table of all streams on which a reference has run; none without any."""
    runs = results.runs.assign(stream=[stream_options(each) for each in results.runs["configuration"]])
    runs = runs.drop_duplicates(["dataset", "source", "algorithm", "configuration", "seed"], keep="last")
    methods = results.methods
    streams = [part for _, part in runs.groupby(["dataset", "source", "stream"]) if are_lines(part, methods).any()]
    if not streams:
        return []
    rows = [row for part in streams for row in _rows(part, methods)]
    caption = (
        "References read item ids (most seen, most popular) or all rewards (in hindsight); they are charged no "
        "transfers and are not ranked. The best method is the setting with the best mean on the "
        "same seeds, which favours it. "
        "Means over seeds with 95 % Student t intervals."
    )
    used = pd.concat(streams)
    experiments = tuple(sorted({*used.loc[are_lines(used, methods), "experiment"]}))
    frame = pd.DataFrame(rows)
    notes = results.labels(used[used["experiment"].isin(experiments)])
    return [Table("references", "Reference lines", caption, frame, notes, experiments, subject=SETTINGS)]


def stream_options(configuration: Any) -> str:
    """Return the options of a stream that differ from the defaults, as text."""
    names = [f"{PREFIX}{name}" for name in STREAM_SETTINGS if name not in NOT_SHOWN]
    defaults = {name: STREAM_SETTINGS[name.removeprefix(PREFIX)] for name in names}
    differing = [name for name in names if configuration.get(name, defaults[name]) != defaults[name]]
    return describe(configuration, differing)


def _rows(runs: pd.DataFrame, methods: Methods) -> Iterator[dict[str, Any]]:
    metric = objective(runs["source"])
    means = over_seeds(runs.assign(experiment=""), [metric.name])
    means = means.assign(is_reference=are_lines(means, methods))
    means = means.sort_values(metric.name, ascending=metric.better == "lower")
    best = means[~means["is_reference"]].head(1)
    level = float(best[metric.name].iloc[0]) if len(best) else float("nan")
    for _, row in means[means["is_reference"] | means.index.isin(best.index)].iterrows():
        is_better = row["is_reference"] and metric.sign * row[metric.name] > metric.sign * level
        yield {
            "data": dataset_label(str(runs["dataset"].iloc[0])),
            "stream": runs["stream"].iloc[0] or "default",
            "rule": _label(row, methods),
            "kind": methods.info(str(row["algorithm"])).role if row["is_reference"] else "best method",
            **{f"{metric.label}{end}": float(row[f"{metric.name}{end}"]) for end in ("", "_low", "_high")},
            "better than the best method": "yes" if is_better else "",
            "seeds": int(row["seeds"]),
        }


def _label(row: "pd.Series[Any]", methods: Methods) -> str:
    name = str(row["algorithm"])
    if row["is_reference"]:
        return methods.reference_label(name, str(row["variant"]))
    return f"{methods.label(name)} {methods.front_text(name, float(row['threshold']))}".strip()
