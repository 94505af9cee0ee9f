"""What a prepared data set holds, in words and as a picture."""

from pathlib import Path
from typing import Any

import numpy as np

from data_pipelines.activity_groups import group_users
from data_pipelines.features import SCALINGS, scale
from data_pipelines.prepared import Prepared
from data_pipelines.safe_files import PREPARING, put_in_place

PICTURE_TYPES = (".pdf", ".png", ".svg")


def describe(prepared: Prepared) -> str:
    """Return counts, activity in groups, items without words, feature norms, licence and citation."""
    manifest = prepared.manifest
    observed, published = manifest["counts"]["observed"], manifest["counts"]["published"]
    lines = [
        f"data set       {prepared.name}",
        f"source         {manifest['source']} ({manifest['origin']})",
        f"verified       {manifest['verified']}",
    ]
    for what in ("users", "items", "interactions"):
        expected = "" if published is None else f" (published: {published[what]:,})"
        lines.append(f"{what:<15}{observed[what]:,}{expected}")
    without = manifest["items_without_words"]
    lines.append(f"without words  {without:,} items, {without / observed['items']:.1%}")
    lines.append(f"words          {manifest['words']:,}")
    known = np.count_nonzero(prepared.times)
    lines.append(f"time stamps    {known:,} of {len(prepared.times):,} interactions")
    lines.append(f"fingerprint    {manifest['fingerprint']}")
    lines += [f"               {text}" for text in (*manifest["differences"], *manifest["notes"])]
    lines += [f"remark         {text}" for text in manifest["remarks"]]
    lines += ["", *_activity_lines(prepared), "", *_norm_lines(prepared), ""]
    return "\n".join([*lines, f"licence        {manifest['licence']}", f"citation       {manifest['citation']}"])


def _activity_lines(prepared: Prepared) -> list[str]:
    kind = prepared.manifest["groups"]
    groups = group_users(prepared.activity, kind)
    how = "in tens" if kind == "tens" else f"by quantiles: of ten groups {len(groups)} remain"
    lines = [f"activity of users, {how}", f"  {'interactions':<18}{'users':>10}{'in all':>12}"]
    return lines + [f"  {group.label:<18}{group.users:>10,}{group.interactions:>12,}" for group in groups]


def _norm_lines(prepared: Prepared) -> list[str]:
    lines = ["feature norms", f"  {'scaling':<12}{'least':>10}{'median':>10}{'mean':>10}{'largest':>10}"]
    for scaling in SCALINGS:
        norms = np.linalg.norm(scale(prepared.components, scaling), axis=1)
        numbers = (norms.min(), np.median(norms), norms.mean(), norms.max())
        lines.append(f"  {scaling:<12}" + "".join(f"{number:>10.3f}" for number in numbers))
    return lines


def draw(prepared: Prepared, target: Path) -> None:
    """Draw activity per user and feature norms."""
    if target.suffix not in PICTURE_TYPES:
        raise ValueError(f"picture is {str(target)!r}; allowed are names that end in {', '.join(PICTURE_TYPES)}")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.2), layout="constrained")
    activity_axes, norm_axes = figure.subplots(1, 2)
    _draw_activity(activity_axes, prepared)
    _draw_norms(norm_axes, prepared)
    source = prepared.manifest["source"]
    figure.suptitle(f"{prepared.name} ({source})", fontweight="bold")
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = target.with_name(target.name + PREPARING)
    figure.savefig(beside, format=target.suffix[1:], dpi=150)
    put_in_place(beside, target)


def _draw_activity(axes: Any, prepared: Prepared) -> None:
    groups = group_users(prepared.activity, prepared.manifest["groups"])
    bars = axes.bar(range(len(groups)), [group.users for group in groups], color="#4477aa", width=0.85)
    axes.bar_label(bars, [f"{group.users:,}" for group in groups], fontsize=8, padding=2)
    axes.set_xticks(range(len(groups)), [group.label for group in groups], rotation=40, ha="right", fontsize=8)
    axes.set(title=f"Activity: {len(groups)} groups", xlabel="interactions of a user", ylabel="users")
    axes.margins(y=0.1)
    axes.spines[["top", "right"]].set_visible(False)


def _draw_norms(axes: Any, prepared: Prepared) -> None:
    norms = np.linalg.norm(scale(prepared.components, "standard"), axis=1)
    axes.hist(norms, bins=60, color="#4477aa")
    median = float(np.median(norms))
    axes.axvline(median, color="#bb5566", label=f"median {median:.2f}")
    without = prepared.manifest["items_without_words"] / len(norms)
    axes.plot([], [], " ", label=f"{without:.1%} of items have no word")
    axes.set(
        title="Feature norms, scaling standard",
        xlabel="norm of an item's features",
        ylabel="items (log scale)",
    )
    axes.set_yscale("log")
    axes.set_ylim(bottom=0.7)
    axes.legend(frameon=False, fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
