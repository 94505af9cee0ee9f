"""The sections of the page in order: figures and tables by subject, data cards, versions, how to reproduce it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from reports.drawing.figure import Figure
from reports.page.data_cards import Card, data_cards
from reports.read.context import Context
from reports.read.results import Results
from reports.subjects import IN_ORDER, MISSING
from reports.tables.missing import NOTHING, UNKNOWN
from reports.write.table import Table


@dataclass(frozen=True)
class Section:
    """One part of the page."""

    title: str
    introduction: str = ""
    figures: list[Figure] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    cards: Sequence[Card] = ()
    sentences: Sequence[str] = ()
    commands: str = ""

    @property
    def anchor(self) -> str:
        """The target of links to this section."""
        return re.sub(r"\W+", "-", self.title.lower())

    @property
    def entries(self) -> list[tuple[str, str]]:
        """Anchors and titles for the table of contents."""
        links = [(f"figure-{figure.name}", figure.title.partition(" – ")[0]) for figure in self.figures]
        links += [(f"table-{table.name}", table.title.partition(" – ")[0]) for table in self.tables]
        return links + [(card.anchor, card.title) for card in self.cards]


def make_sections(
    results: Results, context: Context, tables: Sequence[Table], figures: Sequence[Figure]
) -> list[Section]:
    """Put figures and tables into the sections that they state; leave out empty ones, except that of missing runs."""
    stated = [*(figure.subject for figure in figures), *(table.subject for table in tables)]
    subjects = dict.fromkeys([*IN_ORDER, *stated])
    sections = {subject: Section(subject.title, subject.introduction) for subject in subjects if subject != MISSING}
    missing_tables: list[Table] = []
    for figure in sorted(figures, key=lambda figure: figure.name):
        sections[figure.subject].figures.append(figure)
    for table in tables:
        (missing_tables if table.subject == MISSING else sections[table.subject].tables).append(table)
    sentences = context.absent or ([] if missing_tables else ["Nothing."])
    missing = Section(MISSING.title, tables=missing_tables, sentences=sentences)
    filled = [section for section in sections.values() if section.figures or section.tables]
    data = Section("Data", cards=data_cards(results, context))
    first, last = ([missing], []) if _is_incomplete(context, missing_tables) else ([], [missing])
    return [*first, *filled, *([data] if data.cards else []), *last, _versions(results), _reproduction(results)]


def _is_incomplete(context: Context, missing_tables: Sequence[Table]) -> bool:
    """Return whether something is missing that readers must know about first."""
    return bool(context.absent) or any(
        table.name == "failed" or not table.frame["missing"].str.startswith((NOTHING, UNKNOWN)).all()
        for table in missing_tables
    )


def headline(results: Results) -> list[tuple[str, str]]:
    """Return the numbers under the title."""
    runs = results.all_runs
    counts = {
        "finished run": len(runs),
        "experiment": runs["experiment"].nunique(),
        "stream": runs["dataset"].nunique(),
        "algorithm": runs["algorithm"].nunique(),
        "seed": runs["seed"].nunique(),
    }
    return [(f"{count:,}", noun if count == 1 else f"{noun}s") for noun, count in counts.items()]


def warnings(results: Results, context: Context) -> list[str]:
    """Return the warnings about the data, which are shown first."""
    return [*context.labels(results.all_runs), *results.left_out_sentences()]


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
    modified = "The runs were made from a checkout with uncommitted changes." if _is_modified(commits) else ""
    return Section("How to reproduce these results", f"{introduction} {modified}".strip(), commands="\n".join(lines))


def _is_modified(commits: Sequence[str]) -> bool:
    return any(commit.endswith("-modified") for commit in commits)
