"""A figure: a picture as PNG and SVG, and the same as an interactive plot for the page."""

import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Canvas

from data_pipelines.support.files import write_whole
from reports.drawing.style import house_style, write_header
from reports.subjects import FIGURES, Subject
from reports.write.table import csv_text

DOTS_PER_INCH = 150


@dataclass(frozen=True)
class Figure:
    """A picture with title and caption. Use `make_figure`: it adds the labels of the data everywhere.

    `interactive` is a Plotly figure as a dictionary; `data` holds the numbers in the picture, saved as CSV next to it;
    `experiments` lists the experiments that it shows, and MLflow shows it in each of them. `labels` are the labels of
    its data, `subject` is its section of the page. The page shows `short_caption`, and draws the interactive plot with
    `on_page`: the labels for a phone, and the settings for a budget slider.
    """

    name: str
    title: str
    caption: str
    draw: Callable[[], Canvas]
    interactive: Mapping[str, Any] | None = None
    data: pd.DataFrame | None = None
    experiments: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    subject: Subject = FIGURES
    short_caption: str = ""
    on_page: Mapping[str, Any] = field(default_factory=dict)

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
            canvas.set_dpi(DOTS_PER_INCH)  # the width of small text depends on it
            FigureCanvasAgg(canvas)
            if canvas.get_layout_engine() is not None:  # do the layout once, not again for each format
                canvas.draw_without_rendering()
                canvas.set_layout_engine("none")
        return canvas

    def markdown(self) -> str:
        """Return title, picture and caption as Markdown."""
        return f"### {self.title}\n\n![{self.title}]({self.name}.svg)\n\n{self.caption}\n"

    def save(self, folder: Path) -> list[Path]:
        """Write the picture as PNG and SVG, title and caption as Markdown, the numbers as CSV; return the paths."""
        folder.mkdir(parents=True, exist_ok=True)
        contents = {".png": self.png, ".svg": self.svg, ".md": self.markdown().encode()}
        if self.data is not None:
            contents[".csv"] = csv_text(self.data, self.labels).encode()
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
    experiments: Sequence[str],
    subject: Subject = FIGURES,
    short_caption: str = "",
    on_page: Mapping[str, Any] | None = None,
) -> Figure:
    """Make a figure whose title, caption, picture and interactive plot all show the labels of its data."""
    kinds = sorted({kind_of(label) for label in labels})
    full_title = f"{title} – {', '.join(kinds)}" if kinds else title

    def draw_with_header() -> Canvas:
        canvas = draw()
        write_header(canvas, full_title, labels)
        return canvas

    sentences = [f"{label}." for label in labels]
    full_caption, short = (" ".join([text, *sentences]) for text in (caption, short_caption or caption))
    plot = None if interactive is None else _with_label(interactive, kinds)
    return Figure(
        name,
        full_title,
        full_caption,
        draw_with_header,
        plot,
        data,
        tuple(experiments),
        tuple(labels),
        subject,
        short,
        on_page or {},
    )


def kind_of(label: str) -> str:
    """Return the short form of a data label, for titles: the words in capitals, such as STAND-IN DATA."""
    capitals = re.search(r"\b[A-Z][A-Z-]+(?: [A-Z][A-Z-]+)*\b", label)
    return capitals.group() if capitals else label


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
