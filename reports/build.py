"""A report from end to end: read the runs, make tables, figures and page, log them to MLflow. Nothing is made twice."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from benchmark.experiment import experiment_names
from benchmark.nearest import unknown
from data_pipelines.safe_files import locked
from data_pipelines.secrets import without_user
from reports.context import Context, make_context
from reports.display import Display
from reports.inputs import code_hash, digest, inputs_hash
from reports.makers import make, makers, note_failure
from reports.output_folder import OutputFolder
from reports.results import Results, read_results
from reports.table import Table

if TYPE_CHECKING:
    from reports.figure import Figure

OUT = Path("reports/output")
PARTS = ("tables", "figures")
PAGE = "report.html"
LONGEST_NAME = 100
"""Of a folder: file systems allow no more than 255 bytes."""


@dataclass(frozen=True)
class Report:
    """What came of it. `failures` are tables, figures or the page that could not be made, one line each."""

    out: Path
    tables: int
    figures: int
    drawn: int
    is_unchanged: bool
    analysis_runs: tuple[str, ...]
    labels: tuple[str, ...]
    absent: tuple[str, ...]
    failures: tuple[str, ...]


def build(
    uri: str | None = None,
    names: Sequence[str] = (),
    out: Path | None = None,
    *,
    only: str | None = None,
    log: bool = True,
) -> Report:
    """Bring a report up to date.

    Args:
        uri: the MLflow store; by default `MLFLOW_TRACKING_URI`, or the SQLite file in the working directory.
        names: experiments, or patterns of them; none means all.
        out: the folder to write to, by default `folder_of(names)`; it holds one report, the latest.
        only: `tables` or `figures`: nothing else is made, no page, nothing in MLflow.
        log: whether MLflow gets the tables and figures too.
    """
    results = read_results(uri)
    if results.runs.empty:
        raise ValueError(f"{without_user(results.uri)} has no finished run; run first: fedbandit run")
    experiments = find_names(names, results)
    out = folder_of(names) if out is None else out
    context = make_context(results.only(experiments), experiments=experiments)
    with locked(out, "report"):
        return Builder(results.only(experiments), context, OutputFolder.open(out)).bring_up_to_date(only, log)


def folder_of(names: Sequence[str]) -> Path:
    """Return where a report goes: that on some experiments has a folder of its own, and leaves the full one alone."""
    name = "+".join(re.sub(r"[^\w.-]", "_", name) for name in names)
    if len(name) > LONGEST_NAME:
        name = f"{name[:LONGEST_NAME]}-{digest(name)[:8]}"
    return OUT / name


def find_names(names: Sequence[str], results: Results) -> list[str]:
    """Return the experiments that are meant, those without runs included."""
    known = sorted({*experiment_names(), *results.experiments()})
    found: list[str] = [] if names else known
    for name in names:
        matching = [each for each in known if fnmatchcase(each, name)]
        if not matching:
            raise unknown("experiment", name, known)
        found += matching
    return list(dict.fromkeys(found))


class Builder:
    """One report in the making."""

    def __init__(self, results: Results, context: Context, folder: OutputFolder) -> None:
        self.results, self.context, self.folder = results, context, folder
        self.inputs = inputs_hash(results, context)
        self.failures: list[str] = []
        self.drawn = 0

    def bring_up_to_date(self, only: str | None, log: bool) -> Report:
        """Make what is asked for and not up to date."""
        parts = (only,) if only else (*PARTS, "page")
        is_logged = bool(only) or not log or self.folder.recorded == self.inputs
        if is_logged and all(self.folder.is_current(part, self.inputs) for part in parts):
            self.context.absent[:] = self.folder.absent
            return self._report(is_unchanged=True)
        display = Display(0)
        try:
            tables = self._tables(display) if only != "figures" else []
            figures = self._figures(display) if only != "tables" else []
            if not only:
                self._page(tables, figures)
            runs = self._log(tables, figures, display) if log and not only else ()
        finally:
            display.close()
        self.folder.absent = self.context.absent
        self.folder.save()
        return self._report(analysis_runs=tuple(runs))

    def _tables(self, display: Display) -> list[Table]:
        modules = makers("reports.tables")
        display.more(len(modules))
        made: list[Table] = []
        for module in modules:
            made += make(module, "tables", self.results, self.context, self.failures)
            display.count(module.__name__)
        files = {}
        for table in made:
            for suffix, content in ((".csv", table.csv()), (".md", table.markdown()), (".tex", table.latex())):
                name = f"tables/{table.name}{suffix}"
                self.folder.put(name, content.encode())
                files[name] = self.inputs
        self.folder.close_part("tables", self._inputs_if_whole(), files)
        return made

    def _figures(self, display: Display) -> list["Figure"]:
        modules = makers("reports.figures")
        display.more(len(modules))
        made: list[Figure] = []
        for module in modules:
            made += make(module, "figures", self.results, self.context, self.failures)
            display.count(module.__name__)
        display.more(len(made))
        code = code_hash()
        files: dict[str, str] = {}
        for figure in made:
            source = figure_hash(figure, code) or self.inputs
            known = [name for name in self.folder.files_of("figures", source) if Path(name).stem == figure.name]
            if known and self.folder.is_made_from("figures", known, source):
                files |= dict.fromkeys(known, source)
            else:
                files |= dict.fromkeys(self._draw(figure), source)
            display.count(figure.name)
        self.folder.close_part("figures", self._inputs_if_whole(), files)
        return made

    def _draw(self, figure: "Figure") -> list[str]:
        try:
            saved = figure.save(self.folder.path / "figures")
        except Exception as error:
            note_failure(f"figure {figure.name}", error, self.failures)
            return []
        self.drawn += 1
        return [path.relative_to(self.folder.path).as_posix() for path in saved]

    def _page(self, tables: Sequence[Table], figures: Sequence["Figure"]) -> None:
        from reports.page import write_page

        try:
            write_page(self.folder.path / PAGE, self.results, self.context, tables, figures)
        except Exception as error:
            note_failure("the page", error, self.failures)
            return
        self.folder.close_part("page", self._inputs_if_whole(), {PAGE: self.inputs})

    def _log(self, tables: Sequence[Table], figures: Sequence["Figure"], display: Display) -> Sequence[str]:
        from reports.record import record

        drawn: dict[str, list[Path]] = {figure.name: [] for figure in figures}
        for name in self.folder.parts["figures"]["files"]:
            drawn[Path(name).stem].append(self.folder.path / name)
        try:
            runs = record(self.results, self.context, tables, drawn, display)
        except (OSError, ValueError) as error:  # a store that may only be read, a server that is away
            note_failure("the analysis runs in MLflow", error, self.failures)
            return ()
        self.folder.recorded = self._inputs_if_whole()
        self.folder.save()
        return runs

    def _inputs_if_whole(self) -> str:
        """What failed is tried again next time: its part does not count as made from these inputs."""
        return "" if self.failures else self.inputs

    def _report(self, *, is_unchanged: bool = False, analysis_runs: tuple[str, ...] = ()) -> Report:
        names = {part: {Path(name).stem for name in known["files"]} for part, known in self.folder.parts.items()}
        return Report(
            out=self.folder.path,
            tables=len(names.get("tables", ())),
            figures=len(names.get("figures", ())),
            drawn=self.drawn,
            is_unchanged=is_unchanged,
            analysis_runs=analysis_runs,
            labels=self.context.labels(self.results.runs),
            absent=tuple(self.context.absent),
            failures=tuple(self.failures),
        )


def figure_hash(figure: "Figure", code: str) -> str:
    """Hash what a picture shows: the numbers of its interactive plot, and the code that draws; empty without a plot."""
    if figure.interactive is None:
        return ""
    return digest([figure.name, figure.title, figure.caption, figure.interactive, code])
