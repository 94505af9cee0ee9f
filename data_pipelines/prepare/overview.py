"""A summary of a prepared data set, as text and as a picture, and its users grouped by activity."""

import itertools
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from data_pipelines.data_set import UNKNOWN_TIME
from data_pipelines.prepare.features import SCALINGS, scale
from data_pipelines.prepare.prepared import Prepared
from data_pipelines.support.files import PREPARING, put_in_place
from data_pipelines.support.text import LABEL_WIDTH

QUANTILE_GROUPS = 10
TENS = tuple(range(0, 100, 10))
"""Lower ends of [0,10) … [80,90), [90,100]."""


@dataclass(frozen=True)
class ActivityGroup:
    """Users with at least `least` interactions, and fewer than `end` (`closed`: at most `end`)."""

    least: int
    end: int
    closed: bool
    users: int
    interactions: int

    @property
    def label(self) -> str:
        """The interval of activity, as text."""
        return f"[{self.least:,}, {self.end:,}{']' if self.closed else ')'}"


def group_users(activity: NDArray[np.int64], kind: str) -> list[ActivityGroup]:
    """Group users by activity; equal quantiles are merged, so there may be fewer than ten groups."""
    if kind == "tens":
        groups = _groups(activity[activity <= 100], [*TENS], 100)
        above = activity[activity > 100]
        return groups + (_groups(above, [101], int(above.max())) if len(above) else [])
    shares = np.arange(QUANTILE_GROUPS) / QUANTILE_GROUPS
    starts = np.unique(np.quantile(activity, shares, method="lower"))
    return _groups(activity, starts.tolist(), int(activity.max()))


def _groups(activity: NDArray[np.int64], starts: list[int], last: int) -> list[ActivityGroup]:
    groups = []
    for least, end in itertools.zip_longest(starts, starts[1:]):
        inside = activity >= least if end is None else (activity >= least) & (activity < end)
        closed = end is None
        total = int(activity[inside].sum())
        groups.append(ActivityGroup(least, last if closed else end, closed, int(inside.sum()), total))
    return groups


PICTURE_TYPES = (".pdf", ".png", ".svg")


def describe(prepared: Prepared) -> str:
    """Return counts, activity groups, items without words, feature norms, licence and citation."""
    manifest = prepared.manifest
    observed, published = manifest["counts"]["observed"], manifest["counts"]["published"]
    counts = [
        (name, f"{observed[name]:,}" + ("" if published is None else f" (published: {published[name]:,})"))
        for name in ("users", "items", "interactions")
    ]
    wordless, times = manifest["items_without_words"], prepared.times
    facts = [
        ("data set", prepared.name),
        ("source", f"{manifest['source']} ({manifest['origin']})"),
        ("verified", manifest["verified"]),
        *counts,
        ("without words", f"{wordless:,} items, {wordless / observed['items']:.1%}"),
        ("words", f"{manifest['words']:,}"),
        ("time stamps", f"{np.count_nonzero(times != UNKNOWN_TIME):,} of {len(times):,} interactions"),
        ("fingerprint", manifest["fingerprint"]),
        *(("", text) for text in (*manifest["differences"], *manifest["notes"])),
        *(("remark", text) for text in manifest["remarks"]),
    ]
    groups = group_users(prepared.activity, manifest["groups"])
    grouping = f"by quantile ({len(groups)} of {QUANTILE_GROUPS} groups are non-empty)"
    lines = [f"{label:<{LABEL_WIDTH}}{text}" for label, text in facts]
    lines += ["", f"activity of users, {'in tens' if manifest['groups'] == 'tens' else grouping}"]
    lines.append(f"  {'interactions':<18}{'users':>10}{'total':>12}")
    lines += [f"  {group.label:<18}{group.users:>10,}{group.interactions:>12,}" for group in groups]
    lines += ["", "feature norms", f"  {'scaling':<12}{'minimum':>10}{'median':>10}{'mean':>10}{'maximum':>10}"]
    for scaling in SCALINGS:
        norms = np.linalg.norm(scale(prepared.components, scaling), axis=1)
        numbers = (norms.min(), np.median(norms), norms.mean(), norms.max())
        lines.append(f"  {scaling:<12}" + "".join(f"{number:>10.3f}" for number in numbers))
    lines += ["", *(f"{label:<{LABEL_WIDTH}}{manifest[label]}" for label in ("licence", "citation"))]
    return "\n".join(lines)


def draw(prepared: Prepared, target: Path) -> None:
    """Draw activity per user and feature norms."""
    if target.suffix not in PICTURE_TYPES:
        raise ValueError(f"picture must be a file name that ends in {', '.join(PICTURE_TYPES)}, got {str(target)!r}")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.2), layout="constrained")
    figure.suptitle(f"{prepared.name} ({prepared.manifest['source']})", fontweight="bold")
    activity_axes, norm_axes = figure.subplots(1, 2)
    groups = group_users(prepared.activity, prepared.manifest["groups"])
    bars = activity_axes.bar(range(len(groups)), [group.users for group in groups], color="#4477aa", width=0.85)
    activity_axes.bar_label(bars, [f"{group.users:,}" for group in groups], fontsize=8, padding=2)
    labels = [group.label for group in groups]
    activity_axes.set_xticks(range(len(groups)), labels, rotation=40, ha="right", fontsize=8)
    activity_axes.set(title=f"Activity: {len(groups)} groups", xlabel="interactions per user", ylabel="users")
    activity_axes.margins(y=0.1)
    norms = np.linalg.norm(scale(prepared.components, "standard"), axis=1)
    median, wordless = float(np.median(norms)), prepared.manifest["items_without_words"] / len(norms)
    norm_axes.hist(norms, bins=60, color="#4477aa")
    norm_axes.axvline(median, color="#bb5566", label=f"median {median:.2f}")
    norm_axes.plot([], [], " ", label=f"{wordless:.1%} of items have no words")
    title = "Feature norms, scaling standard"
    norm_axes.set(title=title, xlabel="norm of an item's features", ylabel="items (log scale)", yscale="log")
    norm_axes.set_ylim(bottom=0.7)
    norm_axes.legend(frameon=False, fontsize=9, loc="upper right")
    for axes in (activity_axes, norm_axes):
        axes.spines[["top", "right"]].set_visible(False)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(target.name + PREPARING)
    figure.savefig(temporary, format=target.suffix[1:], dpi=150)
    put_in_place(temporary, target)
