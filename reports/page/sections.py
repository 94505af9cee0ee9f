"""The sections of the page in order: figures and tables by subject, data cards, versions, how to reproduce it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from benchmark.statistics.intervals import number_of_seeds
from data_pipelines.data_label import is_generated
from reports.labels import dataset_label
from reports.page.answer import short_names
from reports.page.glossary import Term
from reports.read.results import Results
from reports.subjects import FIGURES, FRONTS, IN_ORDER, MISSING, SETTINGS, UNFOLDED
from reports.write.figure import Figure
from reports.write.table import Table


@dataclass(frozen=True)
class Card:
    """A title, the label of the data, names with values, and the address of a page with more."""

    name: str
    title: str
    label: str
    entries: Sequence[tuple[str, str]]
    address: str = ""

    @property
    def is_generated(self) -> bool:
        """Whether the data are generated."""
        return is_generated(self.label)

    @property
    def anchor(self) -> str:
        """The target of links to this card."""
        return f"card-{self.name}"


def data_cards(results: Results) -> list[Card]:
    """Return a card per data set, then one for all simulations."""
    cards = []
    real = results.all_runs[results.all_runs["source"] != "simulated"]
    for (dataset, source), runs in real.groupby(["dataset", "source"]):
        manifest = results.manifests.get(str(dataset))
        if manifest is not None and manifest["source"] != source:
            manifest = None
        entries = _of_runs(runs) if manifest is None else _of_manifest(manifest, runs)
        if source == "stand-in":
            entries = [
                ("source", "generated in the format of the real data; it has nothing else of them"),
                *_of_runs(runs),
            ]
        name = f"{dataset_label(str(dataset))} ({source})"
        cards.append(Card(f"{dataset}-{source}", name, results.label(str(dataset), str(source)), entries))
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


MAX_UNFOLDED_TABLES = 1
"""Further tables of a section are folded."""


@dataclass(frozen=True)
class Section:
    """One part of the page; `tabs` are figures of which one is shown at a time, each with a short name.

    `settings` are tables that are folded under a figure, by its name.
    """

    title: str
    introduction: str = ""
    figures: list[Figure] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    tabs: list[tuple[str, Figure]] = field(default_factory=list)
    cards: Sequence[Card] = ()
    sentences: Sequence[str] = ()
    commands: str = ""
    terms: Sequence[Term] = ()
    is_folded: bool = True
    settings: Mapping[str, Sequence[Table]] = field(default_factory=dict)

    @property
    def anchor(self) -> str:
        """The target of links to this section."""
        return re.sub(r"\W+", "-", self.title.lower()).strip("-")

    @property
    def entries(self) -> list[tuple[str, str]]:
        """Anchors and titles for the table of contents."""
        links = [(f"figure-{figure.name}", name) for name, figure in self.tabs]
        links += [(f"figure-{figure.name}", figure.title.partition(" – ")[0]) for figure in self.figures]
        links += [(f"table-{table.name}", table.title.partition(" – ")[0]) for table in self.tables]
        return links + [(card.anchor, card.title) for card in self.cards]

    @property
    def shown_tables(self) -> list[Table]:
        """The tables that are shown with the section."""
        return self.tables if self.is_folded else self.tables[:MAX_UNFOLDED_TABLES]

    @property
    def folded_tables(self) -> list[Table]:
        """The tables that are folded, as the section itself is not."""
        return [] if self.is_folded else self.tables[MAX_UNFOLDED_TABLES:]

    @property
    def folded_figures(self) -> list[Figure]:
        """The figures that are folded: a section that shows a table shows no figure besides."""
        return [] if self.is_folded or not self.tables else self.figures

    @property
    def more_text(self) -> str:
        """How many figures and tables are folded, such as "2 figures, 1 table"; empty if none."""
        counts = {"figure": len(self.folded_figures), "table": len(self.folded_tables)}
        return ", ".join(f"{count} {noun}{'s' if count > 1 else ''}" for noun, count in counts.items() if count)


def make_sections(results: Results, tables: Sequence[Table], figures: Sequence[Figure]) -> list[Section]:
    """Put figures and tables into the sections that they state; leave out empty ones, except that of missing runs."""
    tabs = front_tabs(results, figures)
    in_tabs = {figure.name for _, figure in tabs}
    others = with_plot_or_alone([figure for figure in figures if figure.name not in in_tabs], tables)
    under = settings_by_figure(tables, [*(figure for _, figure in tabs), *others])
    placed = {table.name for part in under.values() for table in part}
    tables = [table for table in tables if table.name not in placed]
    stated = [*(figure.subject for figure in others), *(table.subject for table in tables)]
    sections = {
        subject: Section(subject.title, subject.introduction, is_folded=subject not in UNFOLDED, settings=under)
        for subject in dict.fromkeys([*IN_ORDER, *stated])
        if subject != MISSING
    }
    sections[FRONTS].tabs.extend(tabs)
    missing_tables: list[Table] = []
    for figure in sorted(others, key=lambda figure: figure.name):
        sections[FIGURES if figure.subject == FRONTS else figure.subject].figures.append(figure)
    for table in tables:
        (missing_tables if table.subject == MISSING else sections[table.subject].tables).append(table)
    sentences = results.absent or ([] if missing_tables else ["Nothing."])
    missing = Section(MISSING.title, tables=missing_tables, sentences=sentences)
    filled = [section for section in sections.values() if section.figures or section.tables or section.tabs]
    data = Section("Data", cards=data_cards(results))
    end = [*([data] if data.cards else []), missing, _versions(results), _reproduction(results)]
    return [*filled, *end]


def settings_by_figure(tables: Sequence[Table], figures: Sequence[Figure]) -> dict[str, list[Table]]:
    """Return the tables of settings that have a figure of their experiment, by its name."""
    under: dict[str, list[Table]] = {}
    for table in (each for each in tables if each.subject == SETTINGS and len(each.experiments) == 1):
        data = table.name.removeprefix(f"settings_{table.experiments[0]}_")
        own = [figure for figure in figures if figure.experiments == table.experiments]
        streams = [str(figure.on_page.get("stream", "")) for figure in own]
        if own:
            best = max(range(len(own)), key=lambda place: (streams[place] == data, streams[place].startswith(data)))
            under.setdefault(own[best].name, []).append(table)
    return under


MAX_CONTENTS = 40
"""Links in the contents of a page."""


def contents(sections: Sequence[Section], room: int) -> list[tuple[Section, list[tuple[str, str]]]]:
    """Return the sections, each with all of its entries or none: those of short sections while there is room."""
    listed = set[str]()
    for section in sorted(sections, key=lambda each: len(each.entries)):
        if len(section.entries) <= room:
            room -= len(section.entries)
            listed.add(section.anchor)
    return [(section, section.entries if section.anchor in listed else []) for section in sections]


def with_plot_or_alone(figures: Sequence[Figure], tables: Sequence[Table]) -> list[Figure]:
    """Leave out pictures without an interactive plot whose table of the same name, which can be filtered, is shown."""
    names = {table.name for table in tables}
    return [figure for figure in figures if figure.interactive is not None or figure.name not in names]


def front_tabs(results: Results, figures: Sequence[Figure]) -> list[tuple[str, Figure]]:
    """Return the fronts that compare methods, with short names of their data."""
    by_stream = {
        (figure.experiments[0], str(figure.on_page["stream"])): figure
        for figure in figures
        if "stream" in figure.on_page
    }
    return [(name, by_stream[main]) for main, name in short_names(results).items() if main in by_stream]


def headline(results: Results) -> list[tuple[str, str]]:
    """Return the numbers under the title."""
    runs = results.all_runs
    counts = {
        "finished run": len(runs),
        "experiment": runs["experiment"].nunique(),
        "stream": runs["dataset"].nunique(),
        "algorithm": runs["algorithm"].nunique(),
    }
    texts = [(f"{count:,}", noun if count == 1 else f"{noun}s") for noun, count in counts.items()]
    number, _, noun = number_of_seeds(runs.groupby("stream")["seed"].nunique()).rpartition(" ")
    return [*texts, (number, noun)]


def remarks(results: Results) -> list[tuple[str, bool]]:
    """Return what readers must know first, and whether it is a warning: that data are generated."""
    generated = [(label, True) for label in results.labels(results.all_runs) if is_generated(label)]
    return [*generated, *((text, False) for text in results.left_out_sentences())]


def _versions(results: Results) -> Section:
    entries = []
    for name, values in results.versions.items():
        differ = len(values) > 1
        text = ", ".join(f"{value} ({count:,} runs)" if differ else value for value, count in values.items())
        entries.append((name, text))
    card = Card("versions", "Software and hardware versions", "", entries)
    return Section("Versions", cards=[card] if entries else [])


def _reproduction(results: Results) -> Section:
    profiles = sorted(set(results.sweeps["profile"]) - {""}) or ["quick"]
    lines = ["# needs Python 3.11 or newer and make; the commands install everything else"]
    commits = [commit for commit in results.versions.get("commit", {}) if commit != "not recorded"]
    if len(commits) == 1:
        lines.append(f"git checkout {commits[0].removesuffix('-modified')}")
    lines += [f"make benchmark PROFILE={profile}" for profile in profiles]
    lines.append("make report")
    introduction = "The same streams, seeds and versions give the same numbers. Finished runs are skipped."
    is_modified = any(commit.endswith("-modified") for commit in commits)
    modified = "The runs were made from a checkout with uncommitted changes." if is_modified else ""
    return Section("How to reproduce these results", f"{introduction} {modified}".strip(), commands="\n".join(lines))
