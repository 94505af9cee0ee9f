"""Every setting of an experiment: means over seeds of the objective and of communication. None is called best."""

import pandas as pd

from benchmark.metrics import objective
from reports.analysis.seeds import over_seeds
from reports.labels import algorithm_label, dataset_label, variant_text
from reports.read.context import Context
from reports.read.experiment_files import effects_of
from reports.read.results import Results
from reports.subjects import SETTINGS
from reports.write.table import Table, with_cut_intervals

ORDER = 20
CAPTION = (
    "All settings of the experiment, means over seeds with 95 % Student t intervals. The best one would be chosen "
    "on these seeds and look better than it is; `fedbandit board` shows which method to use within which budget."
)


def tables(results: Results, context: Context) -> list[Table]:
    """Return a list of settings for each stream of an experiment; studies have their own tables."""
    all_tables = []
    for (experiment, dataset, source), runs in results.runs.groupby(["experiment", "dataset", "source"]):
        if not effects_of(str(experiment)):
            title = f"Settings: {results.about(str(experiment)).title}, {dataset_label(str(dataset))}"
            label = context.label(str(dataset), str(source))
            all_tables.append(_table(f"settings_{experiment}_{dataset}", title, label, str(experiment), runs))
    return all_tables


def _table(name: str, title: str, label: str, experiment: str, runs: pd.DataFrame) -> Table:
    metric = objective(runs["source"].unique())
    rows = over_seeds(runs, [metric.name, "communication"]).sort_values(["algorithm", "variant", "threshold"])
    columns = {
        "algorithm": rows["algorithm"].map(algorithm_label),
        "variant": rows["variant"].map(variant_text).replace("", "–"),
    }
    if rows["global_dim"].notna().any():
        columns["d_g"] = rows["global_dim"]
    columns |= {"threshold": rows["threshold"], "seeds": rows["seeds"]}
    for column, heading in ((metric.name, metric.label), ("communication", "C_T")):
        columns |= {f"{heading}{end}": rows[f"{column}{end}"] for end in ("", "_low", "_high")}
    title, notes = (f"{title} – {label}", (label,)) if label else (title, ())
    frame = pd.DataFrame(columns)
    table = Table(name, title, CAPTION, frame, notes, (experiment,), subject=SETTINGS, short_caption="")
    return with_cut_intervals(table, "C_T")
