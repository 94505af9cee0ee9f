"""The text of docs/results.md: values and verdicts are filled in from the records, so the text cannot contradict them.

`[[ours: DATA: CLAIM]]`, `[[p: DATA: CLAIM]]` and `[[verdict: DATA: CLAIM]]` are our value, its p value and our verdict;
DATA and CLAIM are texts of the table of all claims. `[[is VERDICT: PLACE: VARIANT: CLAIM]]` is the verdict of all
claims of a place in the paper on a variant of the data, with the label of the data; texts may have `*`. If one of them
has another verdict, that is an error: the sentence around it must be written again. With ` tuned` behind `ours`, `p`,
`verdict` or VERDICT, the claims are those with a tuned α. `[[counts: KIND]]` counts the claims of a kind by verdict.
"""

import re
import textwrap
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

import pandas as pd

from benchmark.statistics.verdicts import ClaimVerdict
from reports.analysis.claims import TUNED, judged_cells, judged_claims
from reports.read.results import Results
from reports.tables.claims import counts_text, list_tables, of_kind
from reports.write.table import Table

VALUE = r"(?P<what>ours|p|verdict)(?P<tuned> tuned)?: (?P<data>[^:\]]+): (?P<claim>[^\]]+)"
CHECKED = (
    rf"is (?P<expected>{'|'.join(ClaimVerdict)})(?P<of_tuned> tuned)?"
    r": (?P<place>[^:\]]+): (?P<variant>[^:\]]+): (?P<pattern>[^\]]+)"
)
INLINE = re.compile(rf"\[\[(?:{VALUE}|{CHECKED}|counts: (?P<kind>[^\]]+))\]\]")
UNKNOWN = re.compile(r"\[\[(?:ours|p|verdict|is|counts)\b[^\]]*\]\]")
BLOCK = re.compile(r"(<!-- renewed: (?P<name>[\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
NUMBER_TEXT = re.compile(r"(?<![\w.,])[−-]?\d[\d,]*(?:\.\d+)?(?:e\d+)?")
NOT_RESULTS = tuple(
    re.compile(pattern, re.DOTALL)
    for pattern in (
        r"```.*?```",  # commands
        r"`[^`]*`",
        r"\]\([^)]*\)",  # targets of links
        r"[γαλDNTd]_?[gT]? ?= ?[\d.,e]+",  # settings
        r"(?:Table|section|exponents?|Algorithm|Equation|figures?|[Vv]ersion)\s+\d[\d.]*(?: and \d+)?",
        r"σ\s+\+\s+2",  # in a formula
        r"\(\d+M\)",  # a version of MovieLens
        r"\b9[05] %\s+(?:Student t )?intervals?\b",  # levels of confidence
    )
)
VERDICT_WORD = re.compile(rf"\b(?:{'|'.join(ClaimVerdict)})\b", re.IGNORECASE)
WIDTH = 110
HOLDS, FAILS = "**What holds.**", "**What does not.**"


def filled(text: str, results: Results) -> str:
    """Replace what is in double brackets by values, verdicts and counts; what the records do not say is an error."""
    if "[[" not in text:
        return text
    (table,) = list_tables(results)

    def inline(match: "re.Match[str]") -> str:
        if match["kind"]:
            return _counts(match["kind"], results)
        return _value(table.readable, match) if match["what"] else _checked(table.readable, match)

    if unknown := UNKNOWN.search(INLINE.sub("", text)):
        raise ValueError(f"{unknown.group()} must have one of the forms that tests/tools/prose.py lists")
    parts = re.split(r"(\n\s*\n)", text)
    return "".join(_wrapped(INLINE.sub(inline, part)) if INLINE.search(part) else part for part in parts)


def _wrapped(paragraph: str) -> str:
    end = "\n" if paragraph.endswith("\n") else ""
    return textwrap.fill(" ".join(paragraph.split()), WIDTH, break_long_words=False, break_on_hyphens=False) + end


def bare(content: pd.DataFrame | Table) -> str:
    """Return a table as Markdown, with its notes, but without title and caption."""
    table = content if isinstance(content, Table) else Table("", "", "", content)
    lines = table.markdown().splitlines()
    return "\n".join(lines[next(number for number, line in enumerate(lines) if line.startswith("|")) :]) + "\n"


def _value(claims: pd.DataFrame, match: "re.Match[str]") -> str:
    rows = claims[(claims["data"] == match["data"]) & (claims["claim"] == match["claim"])]
    rows = rows[(rows["kind"] == TUNED) == bool(match["tuned"])]
    if len(rows) != 1:
        raise ValueError(f"{match.group()} must name one claim of the table, got {len(rows)}")
    return str(rows[match["what"]].iloc[0])


def _checked(claims: pd.DataFrame, match: "re.Match[str]") -> str:
    """Return the verdict of all claims that are named, or raise an error if they have another one."""
    patterns = {"place": match["place"], "variant": match["variant"], "claim": match["pattern"]}
    rows = claims[(claims["kind"] == TUNED) == bool(match["of_tuned"])]
    rows = rows[[_fits(row, patterns) for row in rows.to_dict("records")]]
    if rows.empty:
        raise ValueError(f"{match.group()} must name claims of the table, got none")
    others = {verdict for verdict in rows["verdict"].str.partition(" (")[0] if verdict != match["expected"]}
    if others:
        raise ValueError(f"{match.group()} must be the verdict of all these claims, got {', '.join(sorted(others))}")
    texts = {*rows["verdict"]}  # with the label of the data, if they have one
    return texts.pop() if len(texts) == 1 else match["expected"]


def _fits(row: Mapping[str, str], patterns: Mapping[str, str]) -> bool:
    return all(fnmatchcase(row[name], pattern) for name, pattern in patterns.items())


def _counts(kind: str, results: Results) -> str:
    claims = [*judged_claims(results), *judged_cells(results)]
    return counts_text(of_kind(claims, kind))


def typed_numbers(page: str) -> list[str]:
    """Return the numbers in the text of a page that none of its tables has; thresholds and names are no results."""
    tables = {number for block in BLOCK.finditer(page) for number in NUMBER_TEXT.findall(block.group())}
    tables |= {number for match in INLINE.finditer(page) for number in NUMBER_TEXT.findall(match["claim"] or "")}
    prose = _without(page, NOT_RESULTS)
    return [number for number in NUMBER_TEXT.findall(prose) if number not in tables]


def typed_verdicts(template: str) -> list[str]:
    """Return the verdicts that are typed in the text of a template, instead of filled in or in a table."""
    return VERDICT_WORD.findall(_without(template, ()))


def wrong_paragraphs(template: str) -> list[str]:
    """Return the paragraphs on what holds without a verdict that says so, and those on what does not, likewise."""
    wrong = []
    for paragraph in re.split(r"\n\s*\n", template):
        verdicts = {match["expected"] for match in INLINE.finditer(paragraph) if match["expected"]}
        good = verdicts & {ClaimVerdict.REPRODUCED, ClaimVerdict.MECHANICAL}
        if paragraph.startswith(HOLDS) and not (verdicts and verdicts == good):
            wrong.append(paragraph)
        if paragraph.startswith(FAILS) and not (verdicts and not good):
            wrong.append(paragraph)
    return wrong


def words(page: str) -> int:
    """Count the words of a page outside its tables, without comments."""
    text = re.sub(r"<!--.*?-->", "", page, flags=re.DOTALL)
    return sum(len(line.split()) for line in text.splitlines() if not line.startswith("|"))


def _without(page: str, patterns: Iterable["re.Pattern[str]"]) -> str:
    prose = INLINE.sub("", BLOCK.sub("", page))
    for pattern in patterns:
        prose = pattern.sub("", prose)
    return prose
