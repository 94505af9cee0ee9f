"""The words of the page: one definition each, and links to them from the texts."""

import re
from dataclasses import dataclass
from html import escape, unescape

from markupsafe import Markup

from benchmark.protocol import load_protocol
from reports.analysis.board import budget_text, primary_text
from reports.analysis.claims import MEANINGS


@dataclass(frozen=True)
class Term:
    """A word, its definition, and further spellings that are linked to it; verdicts are words of every text."""

    name: str
    meaning: str
    spellings: tuple[str, ...] = ()
    is_verdict: bool = False

    @property
    def anchor(self) -> str:
        """The target of links to this term."""
        return f"term-{re.sub(r'[^a-z0-9]+', '-', self.name.lower()).strip('-')}"


PRIMARY_BUDGETS = load_protocol().budgets.primary


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
        primary_text(PRIMARY_BUDGETS),
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
    Term("STAND-IN DATA", "generated data in the official format; no result on them is valid"),
    Term("RECONSTRUCTED DATA", "real data from a copy that lacks some of the published data"),
    Term("CHANGED DATA", "the publisher's own archive, with counts that differ from the published ones"),
    Term(
        "UNVERIFIED COPY",
        "data from a mirror that are not here any more, so they cannot be compared with the published",
    ),
    Term(
        "FROM THE PACKAGE", "complete data from a package, verified by its sha256, and how they differ from the archive"
    ),
    *(Term(str(verdict), meaning, is_verdict=True) for verdict, meaning in MEANINGS.items()),
)


def terms_used(page: str) -> list[Term]:
    """Return the terms that a page uses, verdicts only where they are verdicts; code and commands are no text."""
    page = re.sub(r"<(style|script|code|pre)\b.*?</\1>", " ", page, flags=re.DOTALL)
    text = unescape(re.sub(r"<[^>]*>", " ", page))
    return [term for term in TERMS if f'href="#{term.anchor}"' in page or _is_used(term, page, text)]


def _is_used(term: Term, page: str, text: str) -> bool:
    if term.is_verdict:
        return f'data-verdict="{term.name}"' in page
    return re.search(_pattern(term.name, *term.spellings), text, re.IGNORECASE) is not None


def _pattern(*spellings: str) -> str:
    """Return a pattern of whole words; a single letter, such as D, is too short to be told from others."""
    words = sorted((each for each in spellings if len(each) > 1 or not each.isascii()), key=len, reverse=True)
    return rf"(?<![\w-])(?:{'|'.join(map(re.escape, words))})(?![\w-])"


def linked(text: str) -> Markup:
    """Return a text whose terms, where they first occur, show and link to their definition; `code` is set as code."""
    spellings = {spelling: term for term in TERMS for spelling in (term.name, *term.spellings) if len(spelling) > 2}
    pattern = _pattern(*map(escape, spellings))
    done: set[str] = set()

    def link(match: "re.Match[str]") -> str:
        if code := match.group(1):
            return f"<code>{code}</code>"
        term = spellings[match.group()]
        if term.name in done:
            return match.group()
        done.add(term.name)
        plain = term.meaning.replace("`", "")  # a tooltip cannot set code
        return f'<a class="term" href="#{term.anchor}" title="{escape(plain)}">{match.group()}</a>'

    return Markup(re.sub(rf"`([^`]+)`|{pattern}", link, escape(text)))  # escaped before
