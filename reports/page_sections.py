"""What stands on the page, in which order: figures and tables by subject, data cards, versions, how to repeat it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from reports.context import Context
from reports.data_cards import Card, data_cards
from reports.figure import Figure
from reports.results import Results
from reports.table import Table
from reports.tables.missing import NOT_KNOWN, NOTHING

MISSING = "What is missing"
ABSENCE = ("missing", "failed")
"""The tables on runs that are not there."""

FURTHER = "Further tables"


@dataclass(frozen=True)
class Subject:
    """A section of figures and tables: those whose name matches."""

    title: str
    pattern: str
    lead: str = ""


SUBJECTS = (
    Subject(
        "Paper against ours",
        r"paper|verdict|direction",
        "What the paper states, what came out here, and what can be said of it. A result that differs is a finding.",
    ),
    Subject(
        "Users by activity",
        r"^users_|group|embedding",
        "Appendix H: who gains and who loses as users share more, and where users lie.",
    ),
    Subject(
        "Studies",
        r"^study_(?!.*_over_time$)",
        "What one setting that the paper leaves open, or that its published script has otherwise, is worth.",
    ),
    Subject("Bounds", r"bound", "Appendix Table 1: what theory promises, beside what was measured."),
    Subject("Leaderboard", r"leaderboard|pair", "Any algorithm, one's own included, on the same streams and seeds."),
    Subject("Over time", r"_over_time$", "How reward and communication grow while a run goes on."),
    Subject(
        "Figures",
        r"",
        "Reward or regret against communication. Hover over a mark, or tap it: algorithm, threshold, seeds and values.",
    ),
)
"""The first that matches takes it; the page shows them in `ORDER`."""

ORDER = ("Paper against ours", "Figures", "Over time", "Users by activity", "Studies", "Bounds", "Leaderboard", FURTHER)


@dataclass(frozen=True)
class Section:
    """One part of the page."""

    title: str
    lead: str = ""
    figures: list[Figure] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    cards: Sequence[Card] = ()
    sentences: Sequence[str] = ()
    commands: str = ""

    @property
    def anchor(self) -> str:
        """The name that links lead to."""
        return re.sub(r"\W+", "-", self.title.lower())

    @property
    def entries(self) -> list[tuple[str, str]]:
        """Anchors and titles for the contents."""
        shown = [(f"figure-{figure.name}", figure.title.partition(" – ")[0]) for figure in self.figures]
        shown += [(f"table-{table.name}", table.title.partition(" – ")[0]) for table in self.tables]
        return shown + [(card.anchor, card.title) for card in self.cards]


def make_sections(
    results: Results, context: Context, tables: Sequence[Table], figures: Sequence[Figure]
) -> list[Section]:
    """Put everything into sections; empty ones are left out, except what is missing."""
    sections = {subject.title: Section(subject.title, subject.lead) for subject in SUBJECTS}
    sections[FURTHER] = Section(FURTHER)
    for figure in sorted(figures, key=lambda figure: figure.name):
        sections[_subject(figure.name)].figures.append(figure)
    for table in tables:
        if table.name in ABSENCE:
            continue
        subject = _subject(table.name)
        sections[FURTHER if subject == "Figures" else subject].tables.append(table)
    counts = [table for table in tables if table.name in ABSENCE]
    absent = Section(MISSING, tables=counts, sentences=context.absent or ([] if counts else ["Nothing."]))
    shown = [sections[title] for title in ORDER if sections[title].figures or sections[title].tables]
    data = Section("Data", cards=data_cards(results, context))
    first, last = ([absent], []) if _is_incomplete(context, counts) else ([], [absent])
    return [*first, *shown, *([data] if data.cards else []), *last, _versions(results), _repeat(results)]


def _is_incomplete(context: Context, counts: Sequence[Table]) -> bool:
    """Tell whether readers must know at once that something is missing."""
    return bool(context.absent) or any(
        table.name == "failed" or not table.frame["missing"].str.startswith((NOTHING, NOT_KNOWN)).all()
        for table in counts
    )


def facts(results: Results) -> list[tuple[str, str]]:
    """Return the numbers under the title."""
    runs = results.runs
    return [
        (f"{len(runs):,}", "finished runs"),
        (f"{runs['experiment'].nunique():,}", "experiments"),
        (f"{runs['dataset'].nunique():,}", "streams"),
        (f"{runs['algorithm'].nunique():,}", "algorithms"),
        (f"{runs['seed'].nunique():,}", "seed" if runs["seed"].nunique() == 1 else "seeds"),
    ]


def warnings(results: Results, context: Context) -> list[str]:
    """Return what has to be known of the data before anything else is read."""
    return list(context.labels(results.runs))


def _subject(name: str) -> str:
    return next(subject.title for subject in SUBJECTS if re.search(subject.pattern, name))


def _versions(results: Results) -> Section:
    entries = []
    for name, values in results.facts.items():
        several = len(values) > 1
        text = ", ".join(f"{value} ({count:,} runs)" if several else value for value, count in values.items())
        entries.append((name, text))
    card = Card("versions", "What the runs say of themselves", "", entries)
    return Section("Versions", cards=[card] if entries else [])


def _repeat(results: Results) -> Section:
    profiles = sorted(set(results.sweeps["profile"]) - {""}) or ["quick"]
    lines = ["# Python 3.11 or newer and make; everything else is set up by the commands themselves"]
    commits = [each for each in results.facts.get("commit", {}) if each != "not recorded"]
    if len(commits) == 1:
        lines.append(f"git checkout {commits[0].removesuffix('-modified')}")
    lines += [f"make benchmark PROFILE={profile}" for profile in profiles]
    lines.append("make report")
    lead = "The same streams, seeds and versions give the same numbers. Finished runs are not run again."
    modified = "The runs were made from a checkout with local changes." if _is_modified(commits) else ""
    return Section("How to repeat it", lead=f"{lead} {modified}".strip(), commands="\n".join(lines))


def _is_modified(commits: Sequence[str]) -> bool:
    return any(commit.endswith("-modified") for commit in commits)
