"""Figures a, b, d, e, f and any experiment with thresholds: communication against regret, or normalised reward."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from algorithms.method import NO_COMMUNICATION, MethodInfo
from benchmark.charts.chart import (
    CONTRASTS,
    FAINT,
    INK,
    Axis,
    Label,
    Level,
    Numbers,
    Panel,
    Series,
    at_zero,
    communication_axis,
    numbers,
)
from benchmark.charts.with_matplotlib import INSET, omitted_labels
from benchmark.metrics import Metric, metric, objective
from benchmark.plan.runs import front_text, threshold_text
from benchmark.results.frames import over_seeds
from benchmark.statistics.intervals import MIN_SEEDS_FOR_INTERVAL
from benchmark.styles import Style
from reports.labels import Methods, dataset_label, seeds_line, seeds_note, seeds_sentence, titled, variant_text
from reports.paper import paper, stream_of
from reports.read.results import Results, counts_needed, effects_of, stream_in_name
from reports.subjects import FRONTS, STUDIES
from reports.write.figure import Figure, make_figure
from reports.write.table import cell_text, interval_text, mean_text

NOT_A_FRONT = frozenset({"user_groups"})
"""Its runs are the same as those of figures d to f."""

ORDER = 10
HEIGHT, NOMINAL_WIDTH = 4.7, 8.5
"""Inches of the panel; the width only decides which marks share a label."""

MAX_LABELS = 6
"""Labelled marks per curve, besides landmarks."""

SAME_POSITION = 2.5
"""Marks of one curve that are nearer to each other (points) share a label."""

MARK_SIZES = {"*": 9.7, "^": 6.5}
INSET_FROM = 8
"""Where the values differ by more than this factor, an inset enlarges the lowest part, if it hides no mark."""

COMMUNICATION = metric("communication")
STATED = "stated in the paper"
REFERENCES = "references (named in the plot)"


@dataclass(frozen=True)
class Stated:
    """A point that the paper states: its communication, regret or reward, and a text."""

    x: float
    y: float
    text: str


@dataclass(frozen=True)
class Curve:
    """The marks of one method in order of threshold, or of communication if it has none.

    `marks` has the columns text, x, x_low, x_high, y, y_low, y_high, seeds, seed_list, threshold, and x_seeds, y_seeds
    with the values of each seed. There is no interval with fewer than three seeds. `meaning` is the symbol of the
    numbers next to the marks.
    """

    method: MethodInfo
    variant: str
    meaning: str
    marks: pd.DataFrame
    style: Style

    @property
    def label(self) -> str:
        """The method's label and variant."""
        return self.method.label + (f" ({variant_text(self.variant)})" if self.variant else "")

    @property
    def legend(self) -> str:
        """The label, and the meaning of the small numbers next to the marks."""
        meaning = self.meaning.replace("d_g", "$d_g$")
        return f"{self.label}  ({meaning})" if meaning else self.label

    def at_landmarks(self, *, is_silent: bool) -> NDArray[np.bool_]:
        """Return the mask of the landmark without communication, a red dot in the paper, or of all others, as γ=1."""
        landmarks = self.method.landmarks.items()
        values = [value for value, name in landmarks if (name == NO_COMMUNICATION) == is_silent]
        return np.asarray(self.marks["threshold"].isin(values))

    def staircase(self, sign: int) -> pd.DataFrame:
        """Return the undominated marks with communication, by rising communication; `sign` is 1 if more is better."""
        ordered = self.marks[self.marks["x"] > 0].sort_values(["x", "y"], ascending=[True, sign < 0])
        best = (sign * ordered["y"]).cummax()
        return ordered[best > best.shift(fill_value=-math.inf)]

    def hover(self, shown: Metric) -> list[tuple[str, ...]]:
        """Return the texts of each mark: name, setting, values and seeds."""
        texts: list[tuple[str, ...]] = []
        for _, row in self.marks.iterrows():
            text = str(row["text"]).removeprefix(f"{self.meaning}=")
            setting = "no threshold" if text == self.method.label else text
            value, spent = (mean_text(*(row[f"{axis}{end}"] for end in ("", "_low", "_high"))) for axis in "yx")
            setting = f"{self.meaning} = {text}" if self.meaning else setting
            seeds = seeds_line(row["seed_list"])
            texts.append((self.label, setting, f"{shown.label} {value}", f"communication {spent}", seeds))
        return texts


def figures(results: Results) -> list[Figure]:
    """Return a front for each experiment and data set."""
    names = {objective([source]).name for source in results.runs["source"].unique()}
    costs = {"communication", *(cost_of(name).name for name in results.experiments())}
    rows = over_seeds(results.runs, [*sorted(costs), *sorted(names)])
    all_figures = []
    for (name, stream), part in rows.groupby(["experiment", "stream"]):
        experiment, by_threshold = str(name), paper()["by_threshold"]["experiments"]
        if experiment in (*has_own_table_only(), *by_threshold) or part["global_dim"].notna().all():
            continue
        runs = results.runs_of(experiment, str(stream))
        streams = rows.loc[rows["experiment"] == experiment, "stream"]
        goal = objective(part["source"])
        figure = front_figure(
            f"{experiment}_{stream}" if stream_in_name(experiment, str(stream), streams) else experiment,
            title_of(results.about(experiment).title, str(stream), streams),
            part,
            goal,
            results.methods,
            cost=cost_of(experiment),
            joined=without_threshold(runs),
            references=references_on(results, runs, part),
            stated=stated_points(experiment, str(stream), goal.name, results.methods),
            clients=float(runs["clients"].mean()) or math.nan,
            labels=results.labels(part),
            experiments=[experiment],
            subject=STUDIES if effects_of(experiment) else FRONTS,
            on_page={"stream": str(stream)},
        )
        all_figures.append(figure)
    return all_figures


def cost_of(experiment: str) -> Metric:
    """Return the metric on the horizontal axis of an experiment's fronts."""
    return metric("needed") if counts_needed(experiment) else COMMUNICATION


def has_own_table_only() -> frozenset[str]:
    """Return the experiments without fronts and curves over time: their tables and pictures show all of them."""
    return NOT_A_FRONT | {*paper()["ablations"]["experiments"]}


def are_lines(rows: pd.DataFrame, methods: Methods) -> NDArray[np.bool_]:
    """Return for each row whether it is a reference or a baseline without a front: its level is a line."""
    roles = [methods.info(str(name)).role for name in rows["algorithm"]]
    return np.asarray([role != "contender" for role in roles], dtype=bool) & rows["threshold"].isna().to_numpy()


def references_on(results: Results, runs: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the references that other experiments ran on the same streams, as rows of `over_seeds`.

    The streams of a figure with several kinds of streams differ, so it has none.
    """
    streams = {*runs["fingerprint"]}
    if len(streams) > runs["seed"].nunique():
        return rows[:0]
    all_runs, methods = results.runs, results.methods
    others = all_runs[all_runs["fingerprint"].isin(streams) & (all_runs["experiment"] != runs["experiment"].iloc[0])]
    others = others[are_lines(others, methods)].drop_duplicates(["algorithm", "configuration", "seed"])
    families = rows.loc[are_lines(rows, methods), "family"]
    further = others[~others["family"].isin(families)].assign(experiment=runs["experiment"].iloc[0])
    return over_seeds(further, [name for name in map(str, rows) if f"{name}_low" in rows])


def title_of(title: str, stream: str, streams: "pd.Series[str]") -> str:
    """Return the title of the figure of an experiment of this title on one stream, without naming the data twice."""
    label = dataset_label(stream)
    if streams.nunique() == 1 and not title.endswith(label.partition(",")[0]):
        return title
    return titled(title, label)


def stated_points(experiment: str, stream: str, metric: str, methods: Methods) -> list[Stated]:
    """Return the points that the paper states for a figure, on its own preparation of the data."""
    values: dict[tuple[str, float], dict[str, float]] = {}
    for number in paper()["numbers"]:
        if number["experiment"] == experiment and stream_of(number["dataset"]) == stream:
            setting = (str(number["algorithm"]), float(number["threshold"]))
            values.setdefault(setting, {})[number["metric"]] = float(number["value"])
    return [
        Stated(each["communication"], each[metric], f"paper, {methods.front_text(*setting)}")
        for setting, each in values.items()
        if {"communication", metric} <= {*each}
    ]


def front_figure(
    name: str,
    title: str,
    rows: pd.DataFrame,
    shown: Metric,
    methods: Methods,
    *,
    cost: Metric = COMMUNICATION,
    by: str = "threshold",
    joined: Collection[str] = (),
    references: pd.DataFrame | None = None,
    stated: Sequence[Stated] = (),
    clients: float = math.nan,
    on_page: dict[str, Any] | None = None,
    **more: Any,
) -> Figure:
    """Return the figure of a front from rows of `over_seeds`, labelled by their threshold or another column.

    Each family of an algorithm is a curve, but all families of an algorithm in `joined` are one curve. References
    among the rows are lines, and the plot includes them, unless there is nothing else; `references` are further ones,
    which may be outside the plot. `more` are further fields of the figure.
    """
    is_line = are_lines(rows, methods) if by == "threshold" else np.zeros(len(rows), dtype=bool)
    is_line = is_line & ~is_line.all()
    further = rows[:0] if references is None else references
    levels = _reference_levels(pd.concat([rows[is_line], further]), shown.name, methods)
    curves = curves_of(rows[~is_line], shown, cost, by, joined, methods)
    panel = _panel(curves, shown, cost, rows.loc[is_line, shown.name].tolist(), levels, stated, clients)
    outside = [
        f"{level.name}: {cell_text(level.value)} (reference)" for level in levels if not panel.y.inside(level.value)
    ]
    exceptions = [f"Outside the plot: {', '.join(outside)}."] if outside else []
    marks = pd.concat([curve.marks for curve in curves])
    if (marks["y_low"] < panel.y.range[0]).any() or (marks["y_high"] > panel.y.range[1]).any():
        exceptions.append("Intervals that extend beyond the plot are clipped.")
    seeds = seeds_sentence(rows["seeds"])
    value = f"{shown.label[:1].upper()}{shown.label[1:]}" + (f": {shown.direction}. " if shown.direction else ". ")
    budget = {} if math.isnan(clients) else {"budget": _budget(curves, shown, clients, panel.x)}
    dashed = ["Dashed lines: references, which read item ids or all rewards; they are not ranked."] if levels else []
    omitted = omitted_labels(panel, HEIGHT)
    space = [f"Labels omitted for lack of space: {', '.join(omitted)}."] if omitted else []
    return make_figure(
        name,
        title,
        " ".join([*_explanation(rows, shown, cost, by, bool(stated), panel), seeds, *dashed, *exceptions, *space]),
        [panel],
        short_caption=" ".join([value + seeds, *exceptions]),
        on_page={**(on_page or {}), **budget},
        height=HEIGHT,
        data=rows,
        **more,
    )


def _explanation(rows: pd.DataFrame, shown: Metric, cost: Metric, by: str, has_stated: bool, panel: Panel) -> list[str]:
    """Return the first sentences of the caption: metric, meaning of the labels, stairs and marks."""
    text = f"{shown.description[:1].upper()}{shown.description[1:]} against {cost.label} at the end of a run"
    meaning = "d_g" if by == "global_dim" else "the threshold (see the legend)"
    if by == "threshold" and (rows["threshold"].isna() & (rows["variant"] != "")).any():
        meaning += " or, without a threshold, the values of the parameters"
    sentences = [
        f"{text}; {shown.direction}." if shown.direction else f"{text}.",
        f"Labels are {meaning}, for at most six marks of a curve; hover over a mark of the interactive plot.",
        "The stairs are the best value within each budget of communication.",
    ]
    sentences += ["Hollow diamonds are numbers that the paper states."] if has_stated else []
    silent = "Runs without communication are plotted in the separate strip at 0."
    return [*sentences, *([silent] if panel.x.zero is not None else [])]


def curves_of(
    rows: pd.DataFrame, shown: Metric, cost: Metric, by: str, joined: Collection[str], methods: Methods
) -> list[Curve]:
    """Return the curves of rows of `over_seeds`: one per family, or one per algorithm in `joined`."""
    curves, parts = [], _split_into_curves(rows, joined)
    styles = methods.curve_styles([method for method, _, _ in parts])
    for (method, variant, part), style in zip(parts, styles, strict=True):
        ordered = part.sort_values([by, cost.name])
        is_threshold, info = by == "threshold", methods.info(method)
        texts = [
            (front_text(info.symbol, value) if is_threshold else threshold_text(value)) or setting or info.label
            for value, setting in zip(ordered[by], ordered["variant"], strict=True)
        ]
        thresholds = ordered["threshold"] if is_threshold else np.nan
        marks = ordered[["seeds", "seed_list"]].assign(text=texts, threshold=thresholds)
        for end in ("", "_low", "_high", "_seeds"):
            marks[f"x{end}"], marks[f"y{end}"] = ordered[f"{cost.name}{end}"], ordered[f"{shown.name}{end}"]
        marks["x_low"] = marks["x_low"].clip(lower=0)  # no run communicates less than nothing
        marks.loc[marks["seeds"] < MIN_SEEDS_FOR_INTERVAL, ["x_low", "x_high", "y_low", "y_high"]] = np.nan
        meaning = "" if ordered[by].isna().all() else info.symbol if is_threshold else "d_g"
        curves.append(Curve(info, variant, meaning, marks.reset_index(drop=True), style))
    return curves


def _split_into_curves(rows: pd.DataFrame, joined: Collection[str]) -> list[tuple[str, str, pd.DataFrame]]:
    """Return method, variant for display, and rows of each curve: families are in the order of the rows."""
    parts: list[tuple[str, str, pd.DataFrame]] = []
    for method, of_method in rows.groupby("algorithm"):
        families = [family for _, family in of_method.groupby("family", sort=False)]
        if method in joined:
            parts.append((str(method), "", of_method))
        else:
            parts += [(str(method), str(family["variant"].iloc[0]), family) for family in families]
    return parts


def without_threshold(runs: pd.DataFrame) -> frozenset[str]:
    """Return the methods whose families are settings of one curve; `runs` are those of one stream.

    They have no threshold in any run, and the same stream in all runs with the same seed: another stream is not a
    setting of the method.
    """
    groups = runs.groupby("algorithm")
    has_thresholds = groups["threshold"].count() > 0
    streams = runs.groupby(["algorithm", "seed"])["fingerprint"].nunique().groupby("algorithm").max()
    return frozenset(map(str, streams.index[~has_thresholds & (streams <= 1)]))


def _reference_levels(rows: pd.DataFrame, name: str, methods: Methods) -> list[Level]:
    """Return the levels of references, from the highest to the lowest; a baseline has its own entry in the legend."""
    rows = rows.sort_values(name, ascending=False)
    levels, styles = [], methods.curve_styles([str(each) for each in rows["algorithm"]])
    for (_, row), style in zip(rows.iterrows(), styles, strict=True):
        label = methods.reference_label(str(row["algorithm"]), str(row["variant"]))
        is_baseline = methods.info(str(row["algorithm"])).role == "baseline"
        entry = f"{label}: {cell_text(row[name])}" if is_baseline else REFERENCES
        value = interval_text(row[name], row[f"{name}_low"], row[f"{name}_high"])
        levels.append(
            Level(float(row[name]), style.colour, entry, label, hover=(label, value, seeds_line(row["seed_list"])))
        )
    return levels


def _panel(
    curves: Sequence[Curve],
    shown: Metric,
    cost: Metric,
    inside: Sequence[float],
    levels: Sequence[Level],
    stated: Sequence[Stated],
    clients: float,
) -> Panel:
    """Return the panel: its vertical axis includes the marks, the paper's points and the levels `inside`."""
    points = pd.DataFrame({"x": [point.x for point in stated], "y": [point.y for point in stated]})
    marks = pd.concat([*(curve.marks for curve in curves), points], ignore_index=True)
    axis = communication_axis(marks["x"], cost.axis_label(), clients)
    is_log = shown.scale == "log" and bool((marks["y"] > 0).all())
    vertical = Axis(shown.axis_label(), _range(marks, inside, is_log), is_log, note="log scale" if is_log else "")
    items: list[Series | Level] = [_marks(curve, axis, shown) for curve in curves]
    if stated:
        hover = [(p.text, f"{shown.label} {cell_text(p.y)}", f"communication {cell_text(p.x)}") for p in stated]
        look: dict[str, Any] = {"marker": "D", "size": 8.7, "is_hollow": True}
        points_x, points_y = at_zero(axis, points["x"]), numbers(points["y"])
        items.append(Series(points_x, points_y, INK, STATED, hover=tuple(hover), **look))
    items += levels
    chance, remark = shown.by_chance, ""
    if chance is not None and not any(level.label != REFERENCES for level in levels):
        if vertical.inside(chance):
            text = ("random choice", f"{shown.label} {chance:g}")
            items.append(Level(chance, FAINT, name="random choice", hover=text))
        else:
            remark = f"random choice: {chance:g}, below this picture"
    for curve in curves:
        items += [*_extremes(curve, axis, shown), *_stairs_and_dots(curve, axis, shown.sign)]
    labels = [label for curve in curves for label in _labels(curve, axis, vertical)]
    labels += [Label(float(at_zero(axis, [p.x])[0]), p.y, p.text, INK, is_italic=True) for p in stated]
    seeds = seeds_note(pd.concat([curve.marks["seeds"] for curve in curves]))
    inset = _inset(curves, shown, axis, vertical)
    return Panel(axis, vertical, tuple(items), tuple(labels), seeds, remark, inset=inset)


def _range(marks: pd.DataFrame, inside: Sequence[float], is_log: bool) -> tuple[float, float]:
    """Return a range with all means, and intervals as long as they are not much wider than the means."""
    low, high = (float(end) for end in (min([*marks["y"], *inside]), max([*marks["y"], *inside])))
    lowest, highest = np.nanmin([low, marks["y_low"].min()]), np.nanmax([high, marks["y_high"].max()])
    if is_log:
        bottom, top = max(lowest, low / 2), min(highest, high * 2)
        margin = max((top / bottom) ** 0.06, 1.05)
        return float(bottom / margin), float(top * margin)
    span = high - low or abs(high) * 0.1 or 1.0
    return float(max(lowest, low - span / 2) - 0.07 * span), float(min(highest, high + span / 2) + 0.09 * span)


def _marks(curve: Curve, axis: Axis, shown: Metric, *, is_extreme: bool = False) -> Series:
    """Return the marks of a curve: its extreme without communication, red as in the paper, or all others."""
    mask = curve.at_landmarks(is_silent=True) == is_extreme
    marks, colour = curve.marks[mask], CONTRASTS[0] if is_extreme else curve.style.colour
    left = marks["x_low"].clip(lower=axis.border).where(marks["x"] > 0)
    hover = [text for text, is_shown in zip(curve.hover(shown), mask, strict=True) if is_shown]
    label, marker, size = curve.legend, curve.style.marker, MARK_SIZES.get(curve.style.marker, 6.0)
    if is_extreme:
        mark = marks.iloc[0]
        label, marker, size = f"{curve.label} {mark['text']}: {cell_text(mark['y'])}, no communication", "o", 8.0
    return Series(
        at_zero(axis, marks["x"]),
        numbers(marks["y"]),
        colour,
        label,
        marker,
        size=size,
        is_hollow=bool(curve.variant) and not is_extreme,
        x_interval=(numbers(left), numbers(marks["x_high"].where(marks["x"] > 0))),
        y_interval=(numbers(marks["y_low"]), numbers(marks["y_high"])),
        hover=tuple(hover),
        is_optional=is_extreme,
    )


def _extremes(curve: Curve, axis: Axis, shown: Metric) -> list[Series | Level]:
    """Return the landmarks of a curve as dotted lines, and the one without communication as a red dot."""
    items: list[Series | Level] = []
    is_silent = curve.at_landmarks(is_silent=True)
    if is_silent.any():
        dot = _marks(curve, axis, shown, is_extreme=True)
        items += [dot, *(Level(y, CONTRASTS[0], line=":", group=dot.label) for y in curve.marks["y"][is_silent])]
    always = curve.marks.loc[curve.at_landmarks(is_silent=False), ["x", "y", "text"]]
    for x, y, name in always.itertuples(index=False):
        text = f"{curve.label} {name}: {cell_text(y)} at $C_T$ = {cell_text(round(x))}"
        items.append(Level(y, curve.style.colour, text, line=":", is_optional=True))
    return items


def _stairs_and_dots(curve: Curve, axis: Axis, sign: int) -> list[Series]:
    """Return the best value within each budget, and single seeds where there are too few for an interval."""
    look: dict[str, Any] = {"group": curve.legend, "opacity": 0.55}
    x, y = _stairs(curve, axis, sign)
    series = [Series(x, y, curve.style.colour, line="steps", width=0.9, **look)] if x else []
    few = curve.marks[(curve.marks["seeds"] > 1) & (curve.marks["seeds"] < MIN_SEEDS_FOR_INTERVAL)]
    if len(few):
        xs, ys = (np.concatenate([np.asarray(values) for values in few[f"{name}_seeds"]]) for name in "xy")
        series.append(Series(at_zero(axis, xs), numbers(ys), curve.style.colour, marker=".", size=2.7, **look))
    return series


def _stairs(curve: Curve, axis: Axis, sign: int) -> tuple[Numbers, Numbers]:
    """Return the steps of the best value within each budget, up to the end of the axis."""
    steps = curve.staircase(sign)
    ends = [axis.range[1]] if len(steps) else []
    return numbers([*steps["x"], *ends]), numbers([*steps["y"], *steps["y"].iloc[-1:]])


def _labels(curve: Curve, axis: Axis, vertical: Axis) -> list[Label]:
    """Return the labels of a curve: at landmarks, both ends, and others between; near marks share one."""
    marks, count = curve.marks, len(curve.marks)
    is_labelled = curve.at_landmarks(is_silent=True) | curve.at_landmarks(is_silent=False)
    is_labelled[np.unique(np.linspace(0, count - 1, min(count, MAX_LABELS)).round().astype(int))] = True
    is_end = marks["threshold"].isin(curve.method.ends).to_numpy()
    x = at_zero(axis, marks["x"])
    places = np.column_stack([axis.share(x) * NOMINAL_WIDTH, vertical.share(marks["y"]) * HEIGHT]) * 72
    clusters: list[list[int]] = []
    for number in range(count):
        if clusters and math.dist(places[clusters[-1][0]], places[number]) < SAME_POSITION:
            clusters[-1].append(number)
        else:
            clusters.append([number])
    labels = []
    for cluster in clusters:
        if is_labelled[cluster].any():
            first, *others = [str(marks["text"].iloc[mark]) for mark in cluster]
            others = [text.removeprefix(f"{curve.meaning}=") for text in others]  # D=0.05, 0.1
            text = ", ".join([first, *others]) if len(others) < 3 else f"{first} … {others[-1]}"
            y, colour = float(marks["y"].iloc[cluster[0]]), curve.style.colour
            labels.append(Label(x[cluster[0]], y, text, colour, curve.label, bool(is_end[cluster].any())))
    return labels


def _inset(curves: Sequence[Curve], shown: Metric, axis: Axis, vertical: Axis) -> Panel | None:
    """Enlarge what is at most twice the least value, where all curves of interest are: above the least, in per cent."""
    left, bottom, width, height = INSET
    marks = pd.concat([curve.marks for curve in curves])
    shares = np.column_stack([axis.share(at_zero(axis, marks["x"])), vertical.share(marks["y"])])
    hidden = ((shares > (left, bottom)) & (shares < (left + width, bottom + height))).all(axis=1)
    near = marks[(marks["x"] > 0) & (marks["y"] <= 2 * marks["y"].min())]
    if not vertical.is_log or vertical.range[1] <= INSET_FROM * vertical.range[0] or hidden.any() or near.empty:
        return None
    least, items = float(marks["y"].min()), []
    for curve in curves:
        x, y = _stairs(curve, axis, shown.sign)
        above = numbers([100 * (value / least - 1) for value in y])
        items.append(Series(x, above, curve.style.colour, line="steps", width=0.9, opacity=0.55))
        part = curve.marks[(curve.marks["x"] > 0) & (curve.marks["y"] <= 2 * least)]
        above = numbers(100 * (part["y"] / least - 1))
        items.append(Series(numbers(part["x"]), above, curve.style.colour, marker=curve.style.marker, size=4.5))
    horizontal = Axis("", (float(near["x"].min()) / 1.6, axis.range[1]), is_log=True)
    title = f"{shown.label} above the least ({cell_text(round(least))}), %"
    return Panel(horizontal, Axis("", (-4, 104)), tuple(items), title=title)


def _budget(curves: Sequence[Curve], shown: Metric, clients: float, axis: Axis) -> dict[str, Any]:
    """Return what the budget slider needs: each setting with its communication, value and texts."""
    points = []
    for curve in curves:
        for (name, setting, value, *_), x, y in zip(
            curve.hover(shown), curve.marks["x"], curve.marks["y"], strict=True
        ):
            if math.isfinite(x) and math.isfinite(y):
                point = {"method": name, "setting": setting, "x": float(x), "y": float(y)}
                points.append({**point, "value": value.removeprefix(f"{shown.label} ")})
    return {"clients": clients, "sign": shown.sign, "metric": shown.label, "zero": axis.zero, "points": points}
