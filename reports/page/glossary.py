"""The words of docs/glossary.md: one definition each, and links to them from the texts of the page."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape, unescape
from pathlib import Path

from markupsafe import Markup

FILE = Path(__file__).parent / "web" / "glossary.md"


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


def _read() -> Iterator[Term]:
    text, _, verdicts = FILE.read_text(encoding="utf-8").partition("## Verdicts")
    for part in (text, verdicts):
        for name, meaning, spellings in re.findall(r"^\| (?!term )(.+?) \| (.+?) \| (.*?) ?\|$", part, re.MULTILINE):
            yield Term(name, meaning, tuple(filter(None, spellings.split(", "))), is_verdict=part is verdicts)


TERMS = tuple(_read())
MEANINGS = {term.name: term.meaning for term in TERMS if term.is_verdict}
"""What each verdict means."""


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
