"""`report.html`: one file with all figures, tables and data cards; it opens anywhere, without a network."""

import json
from base64 import b64encode
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from data_pipelines.support.files import write_whole
from reports.drawing.figure import Figure
from reports.page.sections import headline, make_sections, warnings
from reports.read.context import Context
from reports.read.results import Results
from reports.write.table import Table

TITLE = "Federated linear bandits: reward against communication"


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
    plots = {figure.name: figure.interactive for figure in figures if figure.interactive is not None}
    return environment.from_string(asset("report.html")).render(
        title=TITLE,
        headline=headline(results),
        warnings=warnings(results, context),
        sections=make_sections(results, context, tables, figures),
        style=asset("page.css"),
        script=asset("page.js"),
        plots=in_script(json.dumps(plots, allow_nan=False, ensure_ascii=False, separators=(",", ":"))),
        plotly=plotly_script() if plots else "",
        has_plots=bool(plots),
    )


def picture(figure: Figure, folder: Path | None) -> str:
    """Return the static picture as a data URL, saved in the folder or drawn now; empty if it cannot be drawn."""
    file = None if folder is None else folder / f"{figure.name}.svg"
    try:
        content = file.read_bytes() if file is not None and file.is_file() else figure.svg
    except Exception:  # the build has reported it; the page shows the interactive plot, or a warning
        return ""
    return f"data:image/svg+xml;base64,{b64encode(content).decode()}"


def in_script(text: str) -> str:
    """Return JSON that cannot end the script element around it."""
    return text.replace("<", "\\u003c")


def plotly_script() -> str:
    """Return Plotly's JavaScript from its Python package."""
    return files("plotly").joinpath("package_data", "plotly.min.js").read_text(encoding="utf-8")


def asset(name: str) -> str:
    """Return the text of a file in the folder `web`."""
    # Not by the package's name: a folder `reports` in the working directory can hide an editable install.
    return (Path(__file__).parent / "web" / name).read_text(encoding="utf-8")
