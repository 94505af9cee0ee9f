"""`report.html`: one file that opens anywhere, without a network, with every figure, table and data card in it."""

import json
from base64 import b64encode
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from data_pipelines.safe_files import write_whole
from reports.context import Context
from reports.figure import Figure
from reports.page_sections import facts, make_sections, warnings
from reports.results import Results
from reports.table import Table

TITLE = "Federated linear bandits: reward against communication"


def write_page(
    path: Path, results: Results, context: Context, tables: Sequence[Table], figures: Sequence[Figure]
) -> None:
    """Write the page beside its place, then put it there; pictures saved in `figures` beside it are not drawn again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, page(results, context, tables, figures, path.parent / "figures").encode())


def page(
    results: Results, context: Context, tables: Sequence[Table], figures: Sequence[Figure], saved: Path | None = None
) -> str:
    """Return the whole page."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["picture"] = lambda figure: picture(figure, saved)
    plots = {figure.name: figure.interactive for figure in figures if figure.interactive is not None}
    return environment.from_string(_asset("report.html")).render(
        title=TITLE,
        facts=facts(results),
        warnings=warnings(results, context),
        sections=make_sections(results, context, tables, figures),
        style=_asset("page.css"),
        script=_asset("page.js"),
        plots=in_script(json.dumps(plots, allow_nan=False, ensure_ascii=False, separators=(",", ":"))),
        plotly=plotly_script() if plots else "",
        has_plots=bool(plots),
    )


def picture(figure: Figure, saved: Path | None) -> str:
    """Return the static picture as the address of an image; empty if it cannot be drawn."""
    file = None if saved is None else saved / f"{figure.name}.svg"
    try:
        content = file.read_bytes() if file is not None and file.is_file() else figure.svg
    except Exception:  # the build has named it already; the page has the plot, or says so
        return ""
    return f"data:image/svg+xml;base64,{b64encode(content).decode()}"


def in_script(text: str) -> str:
    """Return JSON that cannot end the script element it stands in."""
    return text.replace("<", "\\u003c")


def plotly_script() -> str:
    """Return Plotly's own JavaScript, as its Python package ships it."""
    return files("plotly").joinpath("package_data", "plotly.min.js").read_text(encoding="utf-8")


def _asset(name: str) -> str:
    # Not by the package's name: a folder `reports` in the working directory can stand before an editable install.
    return (Path(__file__).parent / "web" / name).read_text(encoding="utf-8")
