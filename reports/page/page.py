"""`report.html`: one file with all figures, tables and data cards; it opens anywhere, without a network."""

from base64 import b64encode
from collections.abc import Sequence
from pathlib import Path

from data_pipelines.support.files import write_whole
from reports.drawing.figure import Figure
from reports.page.answer import make_answer
from reports.page.glossary import linked
from reports.page.packed import packed, packed_json, plotly_script
from reports.page.sections import has_paper, headline, is_incomplete, make_sections, own_experiments, warnings
from reports.read.context import Context
from reports.read.results import Results
from reports.write.table import Table

TITLE = "Federated bandits: how much reward for how little communication?"


def write_page(
    path: Path, results: Results, context: Context, tables: Sequence[Table], figures: Sequence[Figure]
) -> None:
    """Write the page; pictures that are already in the neighbouring folder `figures` are reused."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, page(results, context, tables, figures, path.parent / "figures").encode())


def page(
    results: Results, context: Context, tables: Sequence[Table], figures: Sequence[Figure], pictures: Path | None = None
) -> str:
    """Return the whole page; `pictures` is the folder of saved pictures."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["picture"] = lambda figure: picture(figure, pictures)
    environment.filters["linked"] = linked
    plots = {
        figure.name: {**figure.interactive, **figure.on_page} for figure in figures if figure.interactive is not None
    }
    return environment.from_string(asset("report.html")).render(
        title=TITLE,
        headline=headline(results),
        warnings=warnings(results, context),
        is_incomplete=is_incomplete(context, tables),
        own_experiments=own_experiments(results),
        has_paper=has_paper(results),
        answer=make_answer(results, context),
        sections=make_sections(results, context, tables, figures),
        style=asset("page.css"),
        script=asset("page.js"),
        plots=packed_json(plots),
        plotly=packed(plotly_script()) if plots else "",
    )


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
    # Not by the package's name: a folder `reports` in the working directory can hide an editable install.
    return (Path(__file__).parent / "web" / name).read_text(encoding="utf-8")
