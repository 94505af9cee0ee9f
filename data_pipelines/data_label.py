"""Warnings about data that are not the published data set: in reports, in the terminal and in Python."""

import warnings
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any


class DataKind(StrEnum):
    """What data are that are not the published data set."""

    STAND_IN = "STAND-IN DATA"
    RECONSTRUCTED = "RECONSTRUCTED DATA"
    CHANGED = "CHANGED DATA"
    UNVERIFIED = "UNVERIFIED COPY"
    PACKAGE = "FROM THE PACKAGE"


class DataLabel(str):
    """The text to show with every result on data, and their `kind`; empty and without a kind for published data.

    `names` are the data sets that the text names first.
    """

    kind: DataKind | None
    details: str
    names: tuple[str, ...]

    def __new__(cls, kind: DataKind | None = None, details: str = "", names: Iterable[str] = ()) -> "DataLabel":
        """Make the text of its parts."""
        names = tuple(names)
        label = super().__new__(cls, f"{'; '.join(names)}: " * bool(names) + (f"{kind} {details}" if kind else ""))
        label.kind, label.details, label.names = kind, details, names
        return label

    def __getnewargs__(self) -> tuple[Any, ...]:
        """Return the parts, for copies and other processes."""
        return self.kind, self.details, self.names

    @property
    def is_warning(self) -> bool:
        """Whether the data differ, or may differ, from the published ones."""
        return self.kind not in (None, DataKind.PACKAGE)

    def of(self, *names: str) -> "DataLabel":
        """Return the label with the names of its data sets."""
        return DataLabel(self.kind, self.details, names)


def is_generated(label: str) -> bool:
    """Whether a label says that data are generated: the only one that is shown in red."""
    return isinstance(label, DataLabel) and label.kind == DataKind.STAND_IN


def is_provenance(label: str) -> bool:
    """Whether a label only says where complete data are from: a footnote."""
    return isinstance(label, DataLabel) and not label.is_warning


STAND_IN = DataLabel(DataKind.STAND_IN, "(generated): not a valid result")


class UnofficialDataWarning(UserWarning):
    """The data are generated, or differ from the published data set."""


def data_label(source: str, manifest: Mapping[str, Any] | None = None) -> DataLabel:
    """Return the label to show with every result on these data; empty if they are official and complete.

    `manifest` is that of the prepared data set used by the runs, or None if it is not available.
    """
    if source == "stand-in":
        return STAND_IN
    if source in ("simulated", "imported"):
        return DataLabel()
    if source == "package":
        if manifest is None:
            return DataLabel(DataKind.PACKAGE, "INDEX (its data set is not available, so the package is unknown)")
        package = manifest["package"]
        note = f"; {package['note']}" if package["note"] else ""
        return DataLabel(DataKind.PACKAGE, f"{package['name']} {package['version']}{note}")
    if manifest is None:
        details = "(mirror): its data set is not available, so differences are unknown"
        return DataLabel() if source == "official" else DataLabel(DataKind.UNVERIFIED, details)
    observed, published = manifest["counts"]["observed"], manifest["counts"]["published"] or {}
    differences = [
        f"{observed[what]:,} of {count:,} {what}" for what, count in published.items() if observed[what] != count
    ]
    differences = differences or list(manifest.get("differences", []))  # the rows, if the counts are not known
    kind = DataKind.RECONSTRUCTED if source == "mirror" else DataKind.CHANGED
    return DataLabel(kind, f"({', '.join(differences)})") if differences else DataLabel()


def grouped_labels(labels: Iterable[tuple[str, DataLabel]]) -> list[DataLabel]:
    """Return each label once, after the names of its data sets; empty labels are left out."""
    names: dict[DataLabel, list[str]] = {}
    for name, label in labels:
        if label:
            names.setdefault(label, []).append(name)
    return [label.of(*dict.fromkeys(group)) for label, group in names.items()]


def warn_once(manifest: Mapping[str, Any]) -> None:
    """Warn the caller of `load` about a data set with a label, once per process."""
    label = data_label(str(manifest["source"]), manifest).of(str(manifest["name"]))
    if label.kind and label not in _warned:
        _warned.add(label)
        warnings.warn(label, UnofficialDataWarning, stacklevel=3)


_warned: set[DataLabel] = set()
