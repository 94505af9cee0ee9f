"""The words of the page: one definition each, and links to them from the texts."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from markupsafe import Markup

from benchmark.statistics.budgets import PRIMARY_BUDGETS
from reports.analysis.board import budget_text, primary_text
from reports.analysis.verdicts import MEANINGS


@dataclass(frozen=True)
class Term:
    """A word, its definition, and further spellings that are linked to it; a label of data is not on every page."""

    name: str
    meaning: str
    spellings: tuple[str, ...] = ()
    is_data_label: bool = False

    @property
    def anchor(self) -> str:
        """The target of links to this term."""
        return f"term-{re.sub(r'[^a-z0-9]+', '-', self.name.lower()).strip('-')}"


def _budgets() -> str:
    *texts, last = map(budget_text, PRIMARY_BUDGETS)
    return f"{', '.join(texts)} and {last}"


TERMS = (
    Term("client", "a user of a data set, or a simulated user; each has its own model", ("clients",)),
    Term(
        "random choice",
        "picking an item of the pool at random; the yardstick of every score",
        ("a random choice", "chance"),
    ),
    Term(
        "score",
        "normalised reward; in simulations 1 − regret / regret of a random choice: 1 is perfect, 0 is a random choice",
        ("scores", "mean score"),
    ),
    Term("normalised reward", "reward divided by what a random choice earns: 2 means twice as much"),
    Term("regret", "in simulations, the expected reward lost by not choosing the best item of the pool"),
    Term(
        "transfer",
        "one upload of a client's statistics to the server, or one download of the server's",
        ("transfers", "transfers per client"),
    ),
    Term(
        "C_T", "communication: the number of transfers in a run; divided by the number of clients, transfers per client"
    ),
    Term(
        "budget",
        "a limit on communication, in full transfers per client; a full transfer moves d (d + 1) / 2 + d numbers, and "
        "a method that sends less per transfer can send more often",
        ("budgets",),
    ),
    Term(
        primary_text(),
        f"the mean of the scores at the budgets {_budgets()}: the primary endpoint, by which methods are ranked",
        ("primary endpoint",),
    ),
    Term("threshold", "γ or D: when a method communicates; the higher, the less often", ("thresholds", "γ", "D")),
    Term("no communication", "every client learns alone: γ=∞"),
    Term(
        "front",
        "the best value that a method reaches within each amount of communication: the stairs in a plot",
        ("fronts",),
    ),
    Term(
        "reference",
        "a rule that reads item ids or all rewards; drawn as a dashed line, never ranked",
        ("references", "reference lines"),
    ),
    Term("seed", "one repetition: another order of events, other pools, other ties", ("seeds",)),
    Term("interval", "95 % Student t interval of a mean over seeds; there is none below three seeds", ("intervals",)),
    Term(
        "chosen on these seeds",
        "the best of many settings looks better than it is, as it was picked on the seeds that are shown; "
        "`fedbandit board` chooses on other seeds",
    ),
    Term(
        "board", "every method tuned alike on seeds of their own, compared on others; see docs/protocol.md", ("boards",)
    ),
    Term("STAND-IN DATA", "generated data in the official format; no result on them is valid", is_data_label=True),
    Term("RECONSTRUCTED DATA", "real data from a copy that lacks some of the published data", is_data_label=True),
    *(Term(str(verdict), meaning) for verdict, meaning in MEANINGS.items()),
)


def terms_used(labels: Sequence[str]) -> list[Term]:
    """Return the terms of a page; labels of data are defined only if its data have them."""
    return [term for term in TERMS if not term.is_data_label or any(term.name in label for label in labels)]


def linked(text: str) -> Markup:
    """Return a text whose terms, where they first occur, show and link to their definition; `code` is set as code."""
    spellings = {spelling: term for term in TERMS for spelling in (term.name, *term.spellings) if len(spelling) > 2}
    pattern = "|".join(re.escape(escape(spelling)) for spelling in sorted(spellings, key=len, reverse=True))
    done: set[str] = set()

    def link(match: "re.Match[str]") -> str:
        if code := match.group(1):
            return f"<code>{code}</code>"
        term = spellings[match.group()]
        if term.name in done:
            return match.group()
        done.add(term.name)
        return f'<a class="term" href="#{term.anchor}" title="{escape(term.meaning)}">{match.group()}</a>'

    return Markup(re.sub(rf"`([^`]+)`|(?<![\w-])(?:{pattern})(?![\w-])", link, escape(text)))  # escaped before
