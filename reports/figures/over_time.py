"""Regret or reward, and communication, over time, for the smallest, best and largest threshold of each algorithm."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pandas as pd

from benchmark.charts.chart import Axis, Panel, Series, log_span, numbers, span
from benchmark.metrics import Metric, metric, objective
from benchmark.plan.runs import threshold_text
from benchmark.results.frames import mean_curve
from benchmark.statistics.intervals import MIN_SEEDS_FOR_INTERVAL
from reports.figures.fronts import has_own_table_only
from reports.labels import Methods, dataset_label, seeds_line, seeds_sentence, titled, variant_text
from reports.read.results import Results, stream_in_name
from reports.subjects import OVER_TIME
from reports.write.figure import Figure, make_figure
from reports.write.table import mean_text

SETTLED = 0.05
"""Normalised reward is noisy in this first share of the steps, which is not drawn."""

REWARD, NORMALISED, COMMUNICATION = (metric(name) for name in ("reward", "normalised_reward", "communication"))
ROLES = {"least": "--", "best": "-", "largest": ":"}
"""Line styles of the smallest threshold, the one with the best result and the largest."""

MAX_SERIES = 8
"""More cannot be told apart: then there is one per family, and contenders come first."""

ORDER = 30


@dataclass(frozen=True)
class Setting:
    """A family at one value of its axis; `family` is its number, and those of one family have the same colour.

    `curves` has metric, step, mean, low and high; the metric of normalised reward is computed from the curve of reward.
    """

    algorithm: str
    label: str
    role: str
    family: int
    runs: pd.DataFrame
    curves: pd.DataFrame = field(default_factory=pd.DataFrame)

    @property
    def seeds(self) -> list[int]:
        """The seeds of its runs."""
        return sorted(int(seed) for seed in self.runs["seed"])

    def curve(self, shown: Metric) -> pd.DataFrame:
        """Return the mean curve of a metric in the order of steps."""
        return self.curves[self.curves["metric"] == shown.curve_name].sort_values("step")


def figures(results: Results) -> list[Figure]:
    """Return a picture per experiment and data set, one for all d_g of an experiment."""
    all_figures = []
    runs = results.runs[~results.runs["experiment"].isin(has_own_table_only())]
    streams = runs["stream"].where(runs["global_dim"].isna(), "")
    for (experiment, stream), part in runs.groupby([runs["experiment"], streams]):
        is_named = stream_in_name(str(experiment), str(stream), streams[runs["experiment"] == experiment])
        figure = _figure(results, str(experiment), str(stream) if is_named else "", part)
        if figure is None:
            results.note_absent(f"{experiment}: no figure over time because the runs have no curves")
        else:
            all_figures.append(figure)
    return all_figures


def _figure(results: Results, experiment: str, dataset: str, runs: pd.DataFrame) -> Figure | None:
    goal = objective(runs["source"])
    by = "global_dim" if runs["global_dim"].notna().all() else "threshold"
    settings, left_out = shown_settings(results, runs, goal, by)
    if not settings:
        return None
    title, parameter = results.about(experiment).title, "d_g" if by == "global_dim" else "threshold"
    seeds = seeds_sentence(pd.Series([len(setting.seeds) for setting in settings]))
    roles = f"smallest (dashed), largest (dotted) and best (solid) {parameter}"
    roles = roles if len({setting.role for setting in settings}) > 1 else f"best {parameter}"
    more = ""
    if goal == NORMALISED:
        more += f" The first {100 * SETTLED:g} % of the steps are not drawn: there the ratio is mostly noise."
    more += f" {left_out} further variants or references are left out: see the tables." if left_out else ""
    return make_figure(
        f"{experiment}{f'_{dataset}' if dataset else ''}_over_time",
        f"{titled(title, dataset_label(dataset)) if dataset else title}, over time",
        f"{goal.description.capitalize()} and communication up to each step, for the {roles} of each algorithm. "
        f"{seeds}{more}",
        _panels(settings, goal, results.methods),
        short_caption=seeds + more,
        labels=results.labels(runs),
        experiments=[experiment],
        subject=OVER_TIME,
    )


def shown_settings(results: Results, runs: pd.DataFrame, goal: Metric, by: str) -> tuple[list[Setting], int]:
    """Return, for each family, its smallest and largest threshold (or d_g) and the best one by a final metric.

    Also return the number of families that are left out, as there are too many.
    """
    families = runs.groupby(["algorithm", "family"])
    candidates = [
        setting
        for number, ((algorithm, _), part) in enumerate(families)
        for setting in _settings_of_family(str(algorithm), number, part, goal, by, results.methods)
    ]
    settings = candidates
    if len(settings) > MAX_SERIES:
        settings = [setting for setting in settings if setting.role == "best"]
    if len(settings) > MAX_SERIES:
        is_other = {name: results.methods.info(name).role != "contender" for name in runs["algorithm"].unique()}
        settings = sorted(settings, key=lambda setting: is_other[setting.algorithm])[:MAX_SERIES]
    points = results.curves(pd.concat([runs[:0], *(setting.runs for setting in settings)])["run_id"].unique())
    with_curves = [replace(setting, curves=_mean_curves(setting.runs, points)) for setting in settings]
    left_out = families.ngroups - len({setting.family for setting in settings})
    return [setting for setting in with_curves if len(setting.curves)], left_out


def _settings_of_family(
    algorithm: str, number: int, runs: pd.DataFrame, goal: Metric, by: str, methods: Methods
) -> list[Setting]:
    variant = variant_text(str(runs["variant"].iloc[0]))

    def setting(at: str, role: str, part: pd.DataFrame) -> Setting:
        label = " ".join(filter(None, (methods.label(algorithm), at, f"({variant})" if variant else "")))
        return Setting(algorithm, label, role, number, part)

    means = runs.groupby(by)[goal.name].mean()
    if means.empty:
        return [setting("", "best", runs)]
    best = float(str((goal.sign * means).idxmax()))
    roles = {float(means.index.min()): "least", float(means.index.max()): "largest", best: "best"}
    texts = {
        value: f"d_g={threshold_text(value)}" if by == "global_dim" else methods.front_text(algorithm, value)
        for value in roles
    }
    in_order = sorted(roles.items(), key=lambda item: item[1], reverse=True)
    return [setting(texts[value], role, runs[runs[by] == value]) for value, role in in_order]


def _mean_curves(runs: pd.DataFrame, points: pd.DataFrame) -> pd.DataFrame:
    points = points.merge(runs[["run_id", "steps", "reward", "normalised_reward"]], on="run_id")
    # The expected reward of a random choice up to a step: in real data every pool has one positive item.
    by_chance = points["reward"] / points["normalised_reward"] * points["step"] / points["steps"]
    rewards = points[points["metric"] == REWARD.curve_name]
    normalised = rewards.assign(metric=NORMALISED.curve_name, value=rewards["value"] / by_chance)
    points = pd.concat([points, normalised], ignore_index=True)
    by_run = points.pivot(index=["metric", "step"], columns="run_id", values="value")
    mean, low, high = mean_curve(by_run.to_numpy().T)
    return by_run.index.to_frame(index=False).assign(mean=mean, low=low, high=high)


def _panels(settings: Sequence[Setting], goal: Metric, methods: Methods) -> list[Panel]:
    """Return the panel of the objective, and that of communication."""
    names = {
        goal: f"{NORMALISED.label} so far" if goal == NORMALISED else goal.description,
        COMMUNICATION: f"{COMMUNICATION.label} so far",
    }
    algorithms = {setting.family: setting.algorithm for setting in settings}
    styles = dict(zip(algorithms, methods.curve_styles([*algorithms.values()]), strict=True))
    panels = []
    for shown, label in names.items():
        items = [_line(setting, shown, label, styles[setting.family].colour) for setting in settings]
        means = [value for item in items for value in item.y]  # the bands of few seeds can be far wider
        is_log = shown == COMMUNICATION and any(value > 0 for value in means)
        vertical = Axis(label, (0.8, log_span(means, 0.08)[1]) if is_log else span(means, 0.08), is_log)
        steps = Axis("step $t$", (0, max(max(item.x, default=1.0) for item in items) * 1.02))
        panels.append(Panel(steps, vertical, tuple(items)))
    return panels


def _line(setting: Setting, shown: Metric, label: str, colour: str) -> Series:
    """Return a line over time; the first steps of a ratio are noise divided by nearly nothing, and left out."""
    curve, is_silent = setting.curve(shown), not setting.curve(COMMUNICATION)["mean"].max() > 0
    if shown == NORMALISED:
        curve = curve[curve["step"] >= SETTLED * curve["step"].max()]
    if shown == COMMUNICATION:
        curve = curve[curve["mean"] > 0]
    has_band = len(setting.seeds) >= MIN_SEEDS_FOR_INTERVAL
    ends = zip(curve["step"], curve["mean"], curve["low"], curve["high"], strict=True)
    seeds = seeds_line(setting.seeds)
    return Series(
        numbers(curve["step"]),
        numbers(curve["mean"]),
        colour,
        setting.label.replace("d_g", "$d_g$") + (" (no communication)" if is_silent else ""),
        line=ROLES[setting.role],
        width=1.3,
        y_interval=(numbers(curve["low"]), numbers(curve["high"])) if has_band else None,
        has_band=has_band,
        hover=tuple((setting.label, f"step {step:,}", f"{label} {mean_text(*mean)}", seeds) for step, *mean in ends),
    )
