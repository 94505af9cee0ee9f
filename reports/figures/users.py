"""Users of real data sets (appendix H): reward by activity group, and the principal components of their items."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from benchmark.charts.chart import CONTRASTS, Axis, Label, Level, Panel, Series, drawn_values, numbers, span
from benchmark.results.frames import over_seeds
from reports.analysis.users import (
    ASSIGNMENTS,
    EXPERIMENT,
    Embedding,
    distance_by_group,
    distances_by_chance,
    embed_users,
    group_totals,
    has_few_users,
)
from reports.figures.by_parameter import MeanLine, mean_panels
from reports.labels import Methods, dataset_label, seeds_sentence
from reports.read.results import Results
from reports.subjects import USERS
from reports.write.figure import Figure, make_figure

MARKERS = ("o", "*", "D", "^", "s", "v")
OF_THE_PAPER = "delicious"
"""The data set that the paper's sentences on users are about."""

METRICS = {f"per_{unit}": (f"reward per {unit}", f"reward per {unit}") for unit in ("user", "interaction")}
BY_CHANCE = "#b6bcc6"
ORDER = 40


def figures(results: Results) -> list[Figure]:
    """Return the rewards by group for each data set of the study, and the embedding of each that is available."""
    all_figures = []
    for stream, runs in results.runs_of(EXPERIMENT).groupby("stream"):
        if has_few_users(str(runs["dataset"].iloc[0]), results):
            continue
        totals = group_totals(results, str(stream))
        if len(totals):
            all_figures.append(_rewards(str(stream), by_group(totals), results.labels(runs), results.methods))
        else:
            results.note_absent(f"{stream}: no figure of reward by activity group because its data or runs are missing")
    real = results.runs[results.runs["source"] != "simulated"]
    of_study = real[real["experiment"] == EXPERIMENT]
    for dataset, runs in (of_study if len(of_study) else real).groupby("dataset"):
        prepared = results.prepared(str(dataset))
        if prepared is None:
            results.note_absent(f"{dataset}: no figure of its users because the data set is not available")
        elif not has_few_users(str(dataset), results):
            embedding = embed_users(prepared)
            groups = distance_by_group(embedding, distances_by_chance(prepared, results))
            all_figures.append(_embedding(str(dataset), embedding, groups, runs, results.labels(runs)))
    return all_figures


def by_group(totals: pd.DataFrame) -> pd.DataFrame:
    """Average over seeds: one row per algorithm, family, threshold and group."""
    per = {"per_user": totals["reward"] / totals["users"], "per_interaction": totals["reward"] / totals["interactions"]}
    keys = ["algorithm", "family", "threshold", "least", "group", "users", "interactions"]
    return over_seeds(totals.assign(**per), [*per], by=keys)


def _rewards(stream: str, rows: pd.DataFrame, labels: Sequence[str], methods: Methods) -> Figure:
    claim = (
        "According to the paper, the less active groups lose most from γ=6001 to γ=3, the most active least. "
        if stream.startswith(OF_THE_PAPER)
        else ""
    )
    parts: list[tuple[Any, pd.DataFrame]] = list(rows.groupby(["algorithm", "family", "threshold"], dropna=False))
    parts.sort(key=lambda item: (item[0][0], item[1]["variant"].iloc[0], -item[0][2]))
    shifts = np.linspace(-0.22, 0.22, len(parts)) if len(parts) > 1 else [0.0]
    groups = list(rows.sort_values("least")["group"].unique())
    lines = []
    for number, ((algorithm, _, threshold), part) in enumerate(parts):
        part, variant, marker = part.sort_values("least"), part["variant"].iloc[0], MARKERS[number % len(MARKERS)]
        label = f"{methods.label(algorithm)} {methods.front_text(algorithm, threshold)}"
        label += f" ({variant})" if variant else ""
        x = [groups.index(group) + shifts[number] for group in part["group"]]
        sizes = zip(part["group"], part["users"], part["interactions"], strict=True)
        texts = [f"group {group}: {users:,} users, {count:,} interactions" for group, users, count in sizes]
        size = 8.4 if marker == "*" else 5.7
        lines.append(MeanLine(label, part, x, texts, CONTRASTS[number % len(CONTRASTS)], marker, "", size))
    return make_figure(
        f"user_groups_{stream}",
        f"Reward by activity group, {dataset_label(stream)}",
        "Reward per user and per interaction, by activity group (number of interactions of a user). "
        f"{claim}{seeds_sentence(rows['seeds'])}",
        mean_panels(lines, METRICS, _categories(groups, "interactions of a user"), rows["seeds"], least=0),
        short_caption=f"{claim}{seeds_sentence(rows['seeds'])}",
        labels=labels,
        experiments=[EXPERIMENT],
        subject=USERS,
        data=rows,
    )


def _categories(names: Sequence[str], label: str) -> Axis:
    """Return an axis with a place for each name."""
    return Axis(label, (-0.6, len(names) - 0.4), ticks=tuple(enumerate(names)), angle=40, has_grid=False)


def _embedding(
    dataset: str, embedding: Embedding, groups: pd.DataFrame, runs: pd.DataFrame, labels: Sequence[str]
) -> Figure:
    users = embedding.users
    claim = (
        "According to the paper, the most active groups are near the centre, and the less active groups lie along two "
        "nearly orthogonal directions."
        if dataset.startswith(OF_THE_PAPER)
        else ""
    )
    caption = (
        f"The mean feature vectors of the items of each of {len(users):,} users, reduced from {embedding.dimension} to "
        "2 dimensions. Left: each user, coloured by activity group; numbered discs point to the group means. Right: "
        "the mean distance of each group from the centre. The mean of many items is near the centre for any user, so "
        f"the band is what chance gives: the 95 % range of {ASSIGNMENTS} random deals of the same items, with the "
        f"number of items of each user kept. {claim}"
    ).strip()
    colours = dict(zip(groups["group"], group_colours(len(groups)), strict=True))
    return make_figure(
        f"users_{dataset}",
        f"Users of {dataset_label(dataset)} by principal components",
        caption,
        [_components(embedding, colours), _distances(groups, colours)],
        short_caption=f"{len(users):,} users, reduced from {embedding.dimension} to 2 dimensions. {claim}".strip(),
        labels=labels,
        data=users.assign(explained_x=embedding.explained[0], explained_y=embedding.explained[1]),
        experiments=sorted(runs["experiment"].unique()),
        subject=USERS,
        height=3.9,
    )


def group_colours(count: int) -> list[str]:
    """Return colours from dark blue (least active) to orange, which colour-blind readers can distinguish."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    return [to_hex(colormaps["plasma"](share)) for share in np.linspace(0, 0.8, count)]


def _components(embedding: Embedding, colours: dict[Any, str]) -> Panel:
    """Return each user, coloured by group, the means of the groups, and numbered discs that point to them."""
    users, (first, second) = embedding.users, embedding.explained
    marks, means, labels = [], [], []
    for group, part in users.groupby("group"):
        name = f"group {group}: {part['label'].iloc[0]}"
        hover = tuple((name, f"{activity:,} interactions") for activity in part["interactions"])
        places = numbers(part["x"].round(3)), numbers(part["y"].round(3))
        marks.append(Series(*places, colours[group], marker="o", size=3.0, opacity=0.6, hover=hover))
        x, y = (float(part[axis].mean()) for axis in "xy")
        means.append(Series((x,), (y,), colours[group], marker="o", size=5.1, hover=((name, "mean of its users"),)))
        labels.append(Label(x, y, str(group), colours[group], is_bold=True, is_disc=True))
    horizontal, vertical = (
        Axis(f"component {number} ({share:.1%} of the variance)", span(users[axis], 0.05), has_zero_line=True)
        for number, share, axis in ((1, first, "x"), (2, second, "y"))
    )
    return Panel(horizontal, vertical, (*marks, *means), tuple(labels), share=1.15)


def _distances(groups: pd.DataFrame, colours: dict[Any, str]) -> Panel:
    """Return the distance of each group from the centre, with the range that chance gives."""
    items: list[Series | Level] = []
    rows: Any = groups.itertuples(index=False)
    for number, row in enumerate(rows):
        low, high, chance = float(row.chance_low), float(row.chance_high), "by chance: 95 % range"
        ends = ((low, low), (high, high))
        x = (number - 0.4, number + 0.4)
        items.append(Series(x, (low, high), BY_CHANCE, chance, opacity=0.6, y_interval=ends, has_band=True))
        hover = (
            (f"group {row.group}: {row.label}", f"distance {row.distance:.3f}", f"by chance {low:.3f} to {high:.3f}"),
        )
        look: dict[str, Any] = {"label": "users of the data set", "marker": "o", "size": 6.8, "hover": hover}
        items.append(Series((float(number),), (float(row.distance),), colours[row.group], **look))
    names = [f"{group}:  {label}" for group, label in zip(groups["group"], groups["label"], strict=True)]
    vertical = Axis("mean distance from the centre", span(drawn_values(items), least=0))
    return Panel(_categories(names, "group: interactions of a user"), vertical, tuple(items))
