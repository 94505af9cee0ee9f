"""A figure of a report: a chart, saved as PNG, SVG, Markdown and CSV, and shown by the page as an interactive plot."""

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pandas as pd

from benchmark.charts.chart import Chart, Matrix, Panel
from benchmark.charts.with_matplotlib import ignore_interrupt, picture_files, save_picture
from benchmark.charts.with_plotly import annotations, to_plotly
from data_pipelines.data_label import is_provenance
from data_pipelines.support.files import write_whole
from reports.subjects import FIGURES, Subject
from reports.write.table import csv_text

MIN_PER_PROCESS = 4
"""A process must draw as many figures to be worth its start."""


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

    def save(self, folder: Path, *, is_drawn: bool = False) -> list[Path]:
        """Write the picture as PNG and SVG, title and caption as Markdown, the numbers as CSV; return the paths."""
        if not is_drawn:
            save_picture(self, folder)
        texts = {".md": self.markdown()}
        if self.data is not None:
            texts[".csv"] = csv_text(self.data, self.labels)
        for suffix, text in texts.items():
            write_whole(folder / f"{self.name}{suffix}", text.encode())
        return [folder / f"{self.name}{suffix}" for suffix in (".png", ".svg", *texts)]


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
    full_caption = " ".join([caption, *(f"{label}." for label in labels)])
    short = " ".join([short_caption or caption, *(f"{label}." for label in labels if not is_provenance(label))])
    all_panels = (panels,) if isinstance(panels, Matrix) else tuple(panels)
    figure = Figure(name, title, full_caption, all_panels, data, tuple(labels), short_caption=short, **more)
    named = f"{title} – {figure.kinds}" if figure.kinds else title
    return replace(figure, title=named, experiments=tuple(experiments))


class Drawing:
    """Draws figures in other processes, one per processor, while the caller does something else."""

    def __init__(self, folder: Path) -> None:
        self.figures: list[Figure] = []
        self._folder = folder
        self._pool: ProcessPoolExecutor | None = None
        self._drawn: dict[str, Future[object]] = {}

    def start(self, figures: Sequence[Figure]) -> None:
        """Begin to draw further figures; few of them are drawn by `saved`, without other processes."""
        self.figures += figures
        processes = os.cpu_count() or 1
        if self._pool is None and processes > 1 and len(self.figures) >= 2 * MIN_PER_PROCESS:
            self._pool = ProcessPoolExecutor(processes, get_context("spawn"), ignore_interrupt)
        if self._pool is not None:
            for figure in self.figures:
                if figure.name not in self._drawn:
                    self._drawn[figure.name] = self._pool.submit(save_picture, figure.chart, self._folder)

    def __enter__(self) -> "Drawing":
        return self

    def __exit__(self, *_: object) -> None:
        """End the processes; after Ctrl-C each finishes the picture that it is drawing."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def saved(self, figure: Figure) -> list[Path]:
        """Wait until a figure is drawn, and return the paths of its files; if a process died, draw it here."""
        if self._pool is None:
            return figure.save(self._folder)
        try:
            self._drawn[figure.name].result()
        except BrokenExecutor:
            return figure.save(self._folder)
        return figure.save(self._folder, is_drawn=True)
