"""Warnings about data that are not the published data set: in reports, in the terminal and in Python."""

import warnings
from collections.abc import Iterable, Mapping
from typing import Any

STAND_IN = "STAND-IN DATA (generated): not a valid result"
DIFFERENT = ("STAND-IN DATA", "RECONSTRUCTED DATA", "CHANGED DATA", "UNVERIFIED COPY")
"""How labels start of data that differ, or may differ, from the published ones."""

LABELS = (*DIFFERENT, "FROM THE PACKAGE")
"""How labels start."""


class UnofficialDataWarning(UserWarning):
    """The data are generated, or differ from the published data set."""


def data_label(dataset: str, source: str, manifest: Mapping[str, Any] | None = None) -> str:
    """Return the label to show with every result on these data; empty if they are official and complete.

    `manifest` is that of the prepared data set used by the runs, or None if it is not available.
    """
    if source == "stand-in":
        return STAND_IN
    if source in ("simulated", "imported"):
        return ""
    if source == "package":
        return _package_label(manifest)
    if manifest is None:
        label = "UNVERIFIED COPY (mirror): its data set is not available, so differences are unknown"
        return "" if source == "official" else label
    observed, published = manifest["counts"]["observed"], manifest["counts"]["published"] or {}
    differences = [
        f"{observed[what]:,} of {count:,} {what}" for what, count in published.items() if observed[what] != count
    ]
    differences = differences or list(manifest.get("differences", []))  # the rows, if the counts are not known
    kind = "RECONSTRUCTED DATA" if source == "mirror" else "CHANGED DATA"
    return f"{kind} ({', '.join(differences)})" if differences else ""


def _package_label(manifest: Mapping[str, Any] | None) -> str:
    if manifest is None:
        return "FROM THE PACKAGE INDEX (its data set is not available, so the package is unknown)"
    package = manifest["package"]
    note = f"; {package['note']}" if package["note"] else ""
    return f"FROM THE PACKAGE {package['name']} {package['version']}{note}"


def grouped_labels(labels: Iterable[tuple[str, str]]) -> list[str]:
    """Return each label once, after the names of its data sets; empty labels are left out."""
    names: dict[str, list[str]] = {}
    for name, label in labels:
        if label:
            names.setdefault(label, []).append(name)
    return [f"{', '.join(dict.fromkeys(group))}: {label}" for label, group in names.items()]


def is_data_label(text: str) -> bool:
    """Tell whether a text contains a label of data."""
    return any(kind in text for kind in LABELS)


def is_about_different_data(text: str) -> bool:
    """Tell whether a text contains a label of data that differ, or may differ, from the published ones."""
    return any(kind in text for kind in DIFFERENT)


def warn_once(manifest: Mapping[str, Any]) -> None:
    """Warn the caller of `load` about a data set with a label, once per process."""
    name = str(manifest["name"])
    label = data_label(name, str(manifest["source"]), manifest)
    if label and (name, label) not in _warned:
        _warned.add((name, label))
        warnings.warn(f"{name}: {label}", UnofficialDataWarning, stacklevel=3)


_warned: set[tuple[str, str]] = set()
