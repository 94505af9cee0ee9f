"""A figure: a picture that is drawn once, as PNG and as SVG, and the same as an interactive plot for the page."""

import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Canvas

from data_pipelines.safe_files import write_whole
from reports.style import house_style, write_header

DOTS_PER_INCH = 150


@dataclass(frozen=True)
class Figure:
    """A picture with all that has to be said of it. Use `make_figure`: it puts the labels of data everywhere.

    `interactive` is a Plotly figure as a dictionary; `data` are the numbers drawn, saved as CSV beside the picture;
    `experiments` are those that the figure is about.
    """

    name: str
    title: str
    caption: str
    draw: Callable[[], Canvas]
    interactive: Mapping[str, Any] | None = None
    data: pd.DataFrame | None = None
    experiments: tuple[str, ...] = ()

    @cached_property
    def png(self) -> bytes:
        """The picture as PNG."""
        return self._rendered("png", dpi=DOTS_PER_INCH)

    @cached_property
    def svg(self) -> bytes:
        """The picture as SVG, its text searchable."""
        return self._rendered("svg", metadata={"Date": None, "Title": self.title})

    @cached_property
    def _canvas(self) -> Canvas:
        with house_style():
            canvas = self.draw()
            FigureCanvasAgg(canvas)
            if canvas.get_layout_engine() is not None:  # laid out once, not again for each format
                canvas.draw_without_rendering()
                canvas.set_layout_engine("none")
        return canvas

    def save(self, folder: Path) -> list[Path]:
        """Write PNG, SVG and the numbers behind them; return the paths."""
        folder.mkdir(parents=True, exist_ok=True)
        contents = {".png": self.png, ".svg": self.svg}
        if self.data is not None:
            said = "".join(f"# {' '.join(line.split())}\n" for line in (self.title, self.caption))
            contents[".csv"] = (said + self.data.to_csv(index=False, lineterminator="\n")).encode()
        for suffix, content in contents.items():
            write_whole(folder / f"{self.name}{suffix}", content)
        return [folder / f"{self.name}{suffix}" for suffix in contents]

    def _rendered(self, kind: str, **options: Any) -> bytes:
        canvas, buffer = self._canvas, io.BytesIO()
        with house_style():
            canvas.savefig(buffer, format=kind, **options)
        return buffer.getvalue()


def make_figure(
    name: str,
    title: str,
    caption: str,
    draw: Callable[[], Canvas],
    interactive: Mapping[str, Any] | None = None,
    *,
    labels: Sequence[str] = (),
    data: pd.DataFrame | None = None,
    experiments: Sequence[str] = (),
) -> Figure:
    """Make a figure whose title, caption, picture and interactive plot all carry the labels of its data."""
    kinds = sorted({kind_of(label) for label in labels})
    full_title = f"{title} – {', '.join(kinds)}" if kinds else title

    def draw_with_header() -> Canvas:
        canvas = draw()
        write_header(canvas, full_title, labels)
        return canvas

    full_caption = " ".join([caption, *(f"{label}." for label in labels)])
    plot = None if interactive is None else _with_label(interactive, kinds)
    return Figure(name, full_title, full_caption, draw_with_header, plot, data, tuple(experiments))


def kind_of(label: str) -> str:
    """Return the short form of a data label, for titles: the words in capitals, such as STAND-IN DATA."""
    found = re.search(r"\b[A-Z][A-Z-]+(?: [A-Z][A-Z-]+)*\b", label)
    return found.group() if found else label


def _with_label(interactive: Mapping[str, Any], kinds: Sequence[str]) -> Mapping[str, Any]:
    if not kinds:
        return interactive
    title = {
        "text": f"<b>{', '.join(kinds)}</b>",
        "font": {"size": 12, "color": "#c2410c"},
        "x": 0.01,
        "xanchor": "left",
    }
    return {**interactive, "layout": {**interactive["layout"], "title": title}}
