"""The table at the end of `fedbandit data`, and the ways on where a data set is missing."""

from collections.abc import Sequence
from pathlib import Path

from data_pipelines.data_set import Counts
from data_pipelines.readiness import Outcome

HEADER = ("data set", "source", "users", "items", "interactions", "verified", "path")


def status_table(outcomes: Sequence[Outcome]) -> str:
    """Return one line a data set, then what is to be known about single ones."""
    rows = [HEADER, *(_row(outcome) for outcome in outcomes)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADER))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join([*lines, *_remarks(outcomes)])


def ways_on(outcome: Outcome, folder: Path) -> str:
    """Say what was tried and the three ways on, in two lines."""
    name, archive = outcome.data_set.name, outcome.data_set.archive
    return (
        f"{name} is MISSING. Tried: {'; '.join(outcome.tried)}.\n"
        f"  Ways on: (1) a mirror that has {archive}: --mirror DIR_OR_URL or FEDBANDIT_MIRROR; "
        f"(2) the archive by hand: {folder / archive}; "
        f"(3) generated data: fedbandit data {name} --stand-in"
    )


def _row(outcome: Outcome) -> tuple[str, ...]:
    name, published = outcome.data_set.name, outcome.data_set.published
    if outcome.manifest is None:
        return (name, "MISSING", *_counts(None, published), "-", "-")
    observed = Counts(**outcome.manifest["counts"]["observed"])
    verified = str(outcome.manifest["verified"])
    return (
        name,
        str(outcome.manifest["source"]),
        *_counts(observed, published),
        verified,
        str(outcome.path),
    )


def _counts(observed: Counts | None, published: Counts) -> tuple[str, ...]:
    pairs = (
        (observed and observed.users, published.users),
        (observed and observed.items, published.items),
        (observed and observed.interactions, published.interactions),
    )
    return tuple(
        f"{expected:,}" if found == expected else f"{'-' if found is None else format(found, ',')} of {expected:,}"
        for found, expected in pairs
    )


def _remarks(outcomes: Sequence[Outcome]) -> list[str]:
    lines = []
    for outcome in outcomes:
        if outcome.manifest is None:
            continue
        for text in (*outcome.manifest["differences"], *outcome.manifest["notes"]):
            lines.append(f"  {outcome.data_set.name}: {text}")
        if outcome.manifest["source"] == "stand-in":
            lines.append(f"  {outcome.data_set.name}: a stand-in, generated data; no result on it is a finding")
    return ["", *lines] if lines else []
