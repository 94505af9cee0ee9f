"""A summary of a prepared data set, as text and as a picture, and its users grouped by activity."""

import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from data_pipelines.prepare.features import SCALINGS, scale
from data_pipelines.prepare.prepared import Prepared
from data_pipelines.support.files import PREPARING, put_in_place

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
    lines = [
        f"data set       {prepared.name}",
        f"source         {manifest['source']} ({manifest['origin']})",
        f"verified       {manifest['verified']}",
    ]
    for count in ("users", "items", "interactions"):
        expected = "" if published is None else f" (published: {published[count]:,})"
        lines.append(f"{count:<15}{observed[count]:,}{expected}")
    wordless = manifest["items_without_words"]
    lines.append(f"without words  {wordless:,} items, {wordless / observed['items']:.1%}")
    lines.append(f"words          {manifest['words']:,}")
    known_times = np.count_nonzero(prepared.times)
    lines.append(f"time stamps    {known_times:,} of {len(prepared.times):,} interactions")
    lines.append(f"fingerprint    {manifest['fingerprint']}")
    lines += [f"               {text}" for text in (*manifest["differences"], *manifest["notes"])]
    lines += [f"remark         {text}" for text in manifest["remarks"]]
    lines += ["", *_activity_lines(prepared), "", *_norm_lines(prepared), ""]
    return "\n".join([*lines, f"licence        {manifest['licence']}", f"citation       {manifest['citation']}"])


def _activity_lines(prepared: Prepared) -> list[str]:
    kind = prepared.manifest["groups"]
    groups = group_users(prepared.activity, kind)
    grouping = "in tens" if kind == "tens" else f"by quantile ({len(groups)} of {QUANTILE_GROUPS} groups are non-empty)"
    lines = [f"activity of users, {grouping}", f"  {'interactions':<18}{'users':>10}{'total':>12}"]
    return lines + [f"  {group.label:<18}{group.users:>10,}{group.interactions:>12,}" for group in groups]


def _norm_lines(prepared: Prepared) -> list[str]:
    lines = ["feature norms", f"  {'scaling':<12}{'minimum':>10}{'median':>10}{'mean':>10}{'maximum':>10}"]
    for scaling in SCALINGS:
        norms = np.linalg.norm(scale(prepared.components, scaling), axis=1)
        numbers = (norms.min(), np.median(norms), norms.mean(), norms.max())
        lines.append(f"  {scaling:<12}" + "".join(f"{number:>10.3f}" for number in numbers))
    return lines


def draw(prepared: Prepared, target: Path) -> None:
    """Draw activity per user and feature norms."""
    if target.suffix not in PICTURE_TYPES:
        raise ValueError(f"picture must be a file name that ends in {', '.join(PICTURE_TYPES)}, got {str(target)!r}")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.2), layout="constrained")
    activity_axes, norm_axes = figure.subplots(1, 2)
    _draw_activity(activity_axes, prepared)
    _draw_norms(norm_axes, prepared)
    source = prepared.manifest["source"]
    figure.suptitle(f"{prepared.name} ({source})", fontweight="bold")
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(target.name + PREPARING)
    figure.savefig(temporary, format=target.suffix[1:], dpi=150)
    put_in_place(temporary, target)


def _draw_activity(axes: Any, prepared: Prepared) -> None:
    groups = group_users(prepared.activity, prepared.manifest["groups"])
    bars = axes.bar(range(len(groups)), [group.users for group in groups], color="#4477aa", width=0.85)
    axes.bar_label(bars, [f"{group.users:,}" for group in groups], fontsize=8, padding=2)
    axes.set_xticks(range(len(groups)), [group.label for group in groups], rotation=40, ha="right", fontsize=8)
    axes.set(title=f"Activity: {len(groups)} groups", xlabel="interactions per user", ylabel="users")
    axes.margins(y=0.1)
    axes.spines[["top", "right"]].set_visible(False)


def _draw_norms(axes: Any, prepared: Prepared) -> None:
    norms = np.linalg.norm(scale(prepared.components, "standard"), axis=1)
    axes.hist(norms, bins=60, color="#4477aa")
    median = float(np.median(norms))
    axes.axvline(median, color="#bb5566", label=f"median {median:.2f}")
    share = prepared.manifest["items_without_words"] / len(norms)
    axes.plot([], [], " ", label=f"{share:.1%} of items have no words")
    axes.set(
        title="Feature norms, scaling standard",
        xlabel="norm of an item's features",
        ylabel="items (log scale)",
    )
    axes.set_yscale("log")
    axes.set_ylim(bottom=0.7)
    axes.legend(frameon=False, fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
