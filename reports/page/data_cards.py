"""A card per data set: origin, licence, size, and differences from the published archive."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from reports.labels import dataset_label
from reports.read.context import Context
from reports.read.results import Results


@dataclass(frozen=True)
class Card:
    """A title, the label of the data, and names with values."""

    name: str
    title: str
    label: str
    entries: Sequence[tuple[str, str]]

    @property
    def anchor(self) -> str:
        """The target of links to this card."""
        return f"card-{self.name}"


def data_cards(results: Results, context: Context) -> list[Card]:
    """Return a card per data set, then one for all simulations."""
    cards = []
    real = results.all_runs[results.all_runs["source"] != "simulated"]
    for (dataset, source), runs in real.groupby(["dataset", "source"]):
        manifest = context.manifests.get(str(dataset))
        if manifest is not None and manifest["source"] != source:
            manifest = None
        entries = _of_runs(runs) if manifest is None else _of_manifest(manifest, runs)
        if source == "stand-in":
            entries = [
                ("source", "generated in the format of the real data; it has nothing else of them"),
                *_of_runs(runs),
            ]
        name = f"{dataset_label(str(dataset))} ({source})"
        cards.append(Card(f"{dataset}-{source}", name, context.label(str(dataset), str(source)), entries))
    simulated = results.all_runs[results.all_runs["source"] == "simulated"]
    if len(simulated):
        names = ", ".join(sorted(simulated["dataset"].unique()))
        entries = [("streams", names), *_of_runs(simulated), ("licence", "not applicable (generated from seeds)")]
        cards.append(Card("simulated", "Simulations (section 4.1 of the paper)", "", entries))
    return cards


def _of_runs(runs: pd.DataFrame) -> list[tuple[str, str]]:
    def values(column: str) -> str:
        return ", ".join(f"{int(value):,}" for value in sorted(runs[column].dropna().unique()))

    names = {"steps": "steps T", "clients": "clients N", "dimension": "dimension d", "arms": "arms K"}
    return [(name, values(column)) for column, name in names.items()] + [("runs", f"{len(runs):,}")]


def _of_manifest(manifest: Mapping[str, Any], runs: pd.DataFrame) -> list[tuple[str, str]]:
    observed, published = manifest["counts"]["observed"], manifest["counts"]["published"]
    entries = [("source", f"{manifest['source']}, {manifest['origin']}"), ("verified", str(manifest["verified"]))]
    for what in ("users", "items", "interactions"):
        is_complete = published is None or observed[what] == published[what]
        entries.append((what, f"{observed[what]:,}" + ("" if is_complete else f" of {published[what]:,} published")))
    wordless = manifest["items_without_words"]
    entries.append(("words", f"{manifest['words']:,}; {wordless:,} items have none"))
    entries += _of_runs(runs)
    differences = [*manifest["differences"], *manifest["notes"]]
    entries.append(("differences", "; ".join(differences) or "no known differences from the published archive"))
    entries += [("remark", str(text)) for text in manifest["remarks"]]
    return [
        *entries,
        ("licence", str(manifest["licence"])),
        ("citation", str(manifest["citation"])),
        ("fingerprint", str(manifest["fingerprint"])),
    ]
