"""A figure of a report: a chart, saved as PNG, SVG, Markdown and CSV, and shown by the page as an interactive plot."""

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import BrokenExecutor, Future
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from benchmark.charts.chart import Chart, Matrix, Panel
from benchmark.charts.with_matplotlib import ignore_interrupt, picture_files
from benchmark.charts.with_plotly import annotations, to_plotly
from benchmark.execution.local import Pool
from data_pipelines.support.files import write_whole
from reports.subjects import FIGURES, Subject
from reports.write.table import csv_text

MIN_PER_PROCESS = 4
"""A process must draw as many figures to be worth its start."""

SECONDS_TO_WAIT = 1.0


@dataclass(frozen=True)
class Figure(Chart):
    """A chart in a report. Use `make_figure`: it adds the labels of the data to title and captions.

    `experiments` lists the experiments that it shows, and MLflow shows it in each of them; `subject` is its section
    of the page. The page shows `short_caption`, and gets `on_page` with the plot: the settings for a budget slider.
    """

    experiments: tuple[str, ...] = ()
    subject: Subject = FIGURES
    short_caption: str = ""
    on_page: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def interactive(self) -> dict[str, Any] | None:
        """The interactive plot, with the labels for a phone; None if there is none."""
        plot = to_plotly(self)
        return None if plot is None else {**plot, "phone": annotations(self, "phone")}

    @property
    def chart(self) -> Chart:
        """What is drawn, without the numbers."""
        return Chart(self.name, self.title, self.caption, self.panels, None, self.labels, self.height)

    @property
    def svg(self) -> bytes:
        """The picture as SVG."""
        return picture_files(self)[".svg"]

    def markdown(self) -> str:
        """Return title, picture and caption as Markdown."""
        return f"### {self.title}\n\n![{self.title}]({self.name}.svg)\n\n{self.caption}\n"

    def save(self, folder: Path, pictures: Mapping[str, bytes] | None = None) -> list[Path]:
        """Write the picture as PNG and SVG, title and caption as Markdown, the numbers as CSV; return the paths."""
        folder.mkdir(parents=True, exist_ok=True)
        contents = {**(pictures or picture_files(self)), ".md": self.markdown().encode()}
        if self.data is not None:
            contents[".csv"] = csv_text(self.data, self.labels).encode()
        for suffix, content in contents.items():
            write_whole(folder / f"{self.name}{suffix}", content)
        return [folder / f"{self.name}{suffix}" for suffix in contents]


def make_figure(
    name: str,
    title: str,
    caption: str,
    panels: Sequence[Panel] | Matrix,
    *,
    labels: Sequence[str] = (),
    short_caption: str = "",
    experiments: Sequence[str],
    data: pd.DataFrame | None = None,
    **more: Any,
) -> Figure:
    """Make a figure whose title and captions name the labels of its data; `more` are further fields of it."""
    sentences = [f"{label}." for label in labels]
    full_caption, short = (" ".join([text, *sentences]) for text in (caption, short_caption or caption))
    all_panels = (panels,) if isinstance(panels, Matrix) else tuple(panels)
    figure = Figure(name, title, full_caption, all_panels, data, tuple(labels), short_caption=short, **more)
    named = f"{title} – {figure.kinds}" if figure.kinds else title
    return replace(figure, title=named, experiments=tuple(experiments))


class Drawing:
    """Draws figures in other processes, one per processor, while the caller does something else."""

    def __init__(self, figures: Sequence[Figure], folder: Path) -> None:
        self.figures, self._folder = figures, folder
        jobs = min(os.cpu_count() or 1, len(figures) // MIN_PER_PROCESS)
        self._pool = Pool(jobs, ignore_interrupt, ()) if jobs > 1 else None
        self._pictures: dict[str, Future[dict[str, bytes]]] = {}
        if self._pool is not None:
            self._pictures = {figure.name: self._pool.submit(picture_files, figure.chart) for figure in figures}

    def __enter__(self) -> "Drawing":
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.end()

    def saved(self, figure: Figure) -> list[Path]:
        """Wait until a figure is drawn, and save it; if a process died, draw it here."""
        if self._pool is None:
            return figure.save(self._folder)
        while True:
            try:
                return figure.save(self._folder, self._pictures[figure.name].result(SECONDS_TO_WAIT))
            except TimeoutError:
                self._pool.check()
            except BrokenExecutor:
                return figure.save(self._folder)
