"""`report.html`: one file with all figures, tables and data cards; it opens anywhere, without a network."""

import gzip
import json
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from markupsafe import Markup

from benchmark.plan.experiment import experiment_names
from data_pipelines.support.files import write_whole
from reports.page.answer import BOARD_PAGE, footnotes, make_answer, shown_boards
from reports.page.board import board_table, card_sections, detail_sections
from reports.page.glossary import linked, terms_used
from reports.page.sections import MAX_CONTENTS, Section, contents, headline, make_sections, remarks
from reports.read.results import Results
from reports.tables.claims import NAME as CLAIMS
from reports.tables.claims import counted_sentence
from reports.write.figure import Figure
from reports.write.table import Table, with_code

if TYPE_CHECKING:
    from jinja2 import Environment

Item = TypeVar("Item", Table, Figure)

DIGITS = 6
"""Significant digits of numbers in plots; texts that readers see are made before."""


def packed(text: str) -> str:
    """Return a text as gzip in base64; the same text gives the same result."""
    return b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()


def packed_json(value: Any) -> str:
    """Return a value as compressed JSON, without NaN, its numbers rounded."""
    return packed(json.dumps(_rounded(value), allow_nan=False, ensure_ascii=False, separators=(",", ":")))


def plotly_script() -> str:
    """Return Plotly's JavaScript from its Python package."""
    return files("plotly").joinpath("package_data", "plotly.min.js").read_text(encoding="utf-8")


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < 1e15 else float(f"{value:.{DIGITS}g}")
    if isinstance(value, Mapping):
        return {name: _rounded(each) for name, each in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_rounded(each) for each in value]
    return value


WEB = Path(__file__).parent / "web"  # not by the package's name: a folder `reports` can hide an editable install
TITLE = "Federated bandits: how much reward for how little communication?"
LINKS = ("Answer", "Board", "Words used on this page")
"""Links of the contents besides those of the sections."""

BOARD_TITLE = "The board: which method earns most within a budget of messages?"


def write_page(path: Path, results: Results, tables: Sequence[Table], figures: Sequence[Figure]) -> list[Path]:
    """Write the page, and next to it that of the boards if there are any; return their paths.

    Pictures that are already in the neighbouring folder `figures` are reused.
    """
    pages = {path: page(results, tables, figures, path.parent / "figures")}
    if shown_boards(results):
        pages[path.with_name(BOARD_PAGE)] = board_page(results, tables, figures, path.parent / "figures")
    path.parent.mkdir(parents=True, exist_ok=True)
    for each, text in pages.items():
        write_whole(each, text.encode())
    return [*pages]


def page(results: Results, tables: Sequence[Table], figures: Sequence[Figure], pictures: Path | None = None) -> str:
    """Return the whole page, without the tables and figures of boards; `pictures` is the folder of saved pictures."""
    tables, figures = _selected(tables, results, of_boards=False), _selected(figures, results, of_boards=False)
    names = {*results.runs["experiment"]}  # boards left out
    fields = {
        "title": TITLE,
        "headline": headline(results),
        "remarks": remarks(results),
        "footnotes": footnotes(results),
        "is_incomplete": bool(results.absent) or any(table.has_gaps for table in tables),
        "own_experiments": [results.about(name) for name in sorted(names - {*experiment_names()})],
        "has_paper": bool(names & {*experiment_names()}),
        "answer": make_answer(results),
        "claims": counted_sentence(results) if any(table.name == CLAIMS for table in tables) else "",
        "has_board": bool(shown_boards(results)),
    }
    *sections, versions, reproduction = make_sections(results, tables, figures)
    return _rendered("report.html", fields, figures, pictures, sections, (versions, reproduction))


def board_page(
    results: Results, tables: Sequence[Table], figures: Sequence[Figure], pictures: Path | None = None
) -> str:
    """Return the page of the boards."""
    tables, figures = _selected(tables, results, of_boards=True), _selected(figures, results, of_boards=True)
    boards = shown_boards(results)
    fields = {"title": BOARD_TITLE, "remarks": [], "footnotes": [], "board": board_table(boards, results)}
    sections = [*card_sections(boards, results), *detail_sections(results, tables, figures)]
    return _rendered("board.html", fields, figures, pictures, sections)


def board_parts(results: Results, documentation: str) -> dict[str, str]:
    """Return the parts of the page of the boards for a page with a frame of its own, as HTML by heading.

    Without boards there are only the cards. `documentation` is the address of the page on methods.
    """
    templates = environment(linked=lambda text: Markup(with_code(text)))
    macros: Any = templates.get_template("section.html").module
    boards = shown_boards(results)
    table = {"All methods": macros.board_table(board_table(boards, results))} if boards else {}
    cards = {section.title: macros.content(section) for section in card_sections(boards, results, documentation)}
    return {title: str(part) for title, part in (table | cards).items()}


def _selected(items: Sequence[Item], results: Results, *, of_boards: bool) -> list[Item]:
    """Return the tables or figures that are about boards alone, or all others; without scores boards have no page."""
    boards = {board.experiment for board in results.boards if shown_boards(results)}
    return [each for each in items if (bool(each.experiments) and boards.issuperset(each.experiments)) == of_boards]


def _rendered(
    template: str,
    fields: Mapping[str, Any],
    figures: Sequence[Figure],
    pictures: Path | None,
    sections: Sequence[Section],
    end: Sequence[Section] = (),
) -> str:
    """Return a page with its plots, and between its sections and those at the end the words that it uses."""
    templates = environment(linked=linked, picture=lambda figure: picture(figure, pictures))
    plots = {
        figure.name: {**figure.interactive, **figure.on_page} for figure in figures if figure.interactive is not None
    }
    first = len(LINKS) + len(sections) + len(end)
    content = partial(
        templates.get_template(template).render,
        **fields,
        style=asset("page.css"),
        script=asset("unpack.js") + asset("table.js") + asset("page.js"),
        plotly=packed(plotly_script()) if plots else "",
        plots=packed_json(plots),
    )
    parts = folded([*sections, *end], templates)
    without_words = content(contents=[(section, []) for section in (*sections, *end)], folded="")
    words = Section("Words used on this page", terms=terms_used("".join([without_words, *parts.values()])))
    parts |= folded([words], templates)
    listed = contents([*sections, words, *end], MAX_CONTENTS - first)
    return content(contents=listed, folded=packed_json(parts))


def environment(**filters: Callable[[Any], object]) -> "Environment":
    """Return Jinja's environment for the templates in the folder `web`, with these filters."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    loader = FileSystemLoader(WEB)
    made = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    made.filters |= {"with_code": with_code, **filters}
    return made


def folded(sections: Sequence[Section], templates: "Environment") -> dict[str, str]:
    """Return the HTML of everything that is folded, by the name of its place on the page."""
    macros: Any = templates.get_template("section.html").module
    parts = {section.anchor: macros.content(section) for section in sections if section.is_folded}
    parts |= {f"{section.anchor}-more": macros.more(section) for section in sections if section.more_text}
    return {name: str(part) for name, part in parts.items()}


def picture(figure: Figure, folder: Path | None) -> str:
    """Return the static picture as a data URL, saved in the folder or drawn now; empty if it cannot be drawn."""
    file = None if folder is None else folder / f"{figure.name}.svg"
    try:
        content = file.read_bytes() if file is not None and file.is_file() else figure.svg
    except Exception:  # the build has reported it; the page shows a warning
        return ""
    return f"data:image/svg+xml;base64,{b64encode(content).decode()}"


def in_script(text: str) -> str:
    """Return JSON that cannot end the script element around it."""
    return text.replace("<", "\\u003c")


def asset(name: str) -> str:
    """Return the text of a file in the folder `web`."""
    return (WEB / name).read_text(encoding="utf-8")
