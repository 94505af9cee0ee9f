"""Build a report: read the runs, make tables, figures and page, log them to MLflow. Unchanged outputs are reused."""

import importlib
import json
import os
import pkgutil
import re
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmark.plan.experiment import experiment_names
from data_pipelines.support.files import locked, sha256_of, write_whole
from data_pipelines.support.messages import matching_names
from data_pipelines.support.progress import counted
from data_pipelines.support.secrets import without_user
from reports.read.inputs import code_hash, digest, inputs_hash
from reports.read.results import Results, read_results
from reports.write.figure import Drawing, Figure
from reports.write.table import Table


def makers(package: str) -> list[ModuleType]:
    """Return the modules of a package, sorted by their `ORDER` (default 50) and name."""
    path = importlib.import_module(package).__path__
    modules = [importlib.import_module(f"{package}.{module.name}") for module in pkgutil.iter_modules(path)]
    return sorted(modules, key=lambda module: (getattr(module, "ORDER", 50), module.__name__))


def file_name(name: str) -> str:
    """Return a safe file name, whatever characters the names of experiments and data sets have."""
    return re.sub(r"[^\w.-]", "-", name).lstrip(".") or "unnamed"


RECORD = ".report.json"


@dataclass
class OutputFolder:
    """The files by part (`tables`, `figures`, `page`), each with the hashes of its inputs and its content."""

    path: Path
    parts: dict[str, dict[str, Any]] = field(default_factory=dict)
    recorded: str = ""
    """Hash of the inputs of the analysis runs in MLflow."""
    absent: list[str] = field(default_factory=list)
    """Sentences on anything missing."""

    @classmethod
    def open(cls, path: Path) -> "OutputFolder":
        """Read the record of a folder; a damaged record counts as none."""
        try:
            content = json.loads((path / RECORD).read_text(encoding="utf-8"))
            return cls(path, dict(content["parts"]), str(content["recorded"]), list(content["absent"]))
        except (OSError, ValueError, KeyError, TypeError):
            return cls(path)

    def is_current(self, part: str, inputs: str) -> bool:
        """Return whether a part was made from these inputs, without failures, and its files are unchanged."""
        entry = self.parts.get(part, {})
        return entry.get("inputs") == inputs and all(self._is_unchanged(name, part) for name in entry["files"])

    def saved_files(self, part: str, stem: str, made_from: str) -> list[str]:
        """Return the files of a part with this stem that were made from this content; none if one has changed."""
        files = self.parts.get(part, {}).get("files", {})
        names = [name for name, file in files.items() if file["made_from"] == made_from and Path(name).stem == stem]
        return names if all(self._is_unchanged(name, part) for name in names) else []

    def put(self, name: str, content: bytes) -> None:
        """Write a file unless it already has that content."""
        target = self.path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.is_file() or target.read_bytes() != content:
            write_whole(target, content)

    def close_part(self, part: str, inputs: str, files: Mapping[str, str]) -> None:
        """Record the files of a part, each with the hash of its inputs, and remove files that it no longer has."""
        for name in set(self.parts.get(part, {}).get("files", {})) - set(files):
            (self.path / name).unlink(missing_ok=True)
        self.parts[part] = {
            "inputs": inputs,
            "files": {
                name: {"made_from": source, "sha256": sha256_of(self.path / name)} for name, source in files.items()
            },
        }
        self.save()

    def save(self) -> None:
        """Write the record."""
        self.path.mkdir(parents=True, exist_ok=True)
        content = {"parts": self.parts, "recorded": self.recorded, "absent": self.absent}
        text = json.dumps(content, indent=1, sort_keys=True)
        write_whole(self.path / RECORD, text.encode())

    def _is_unchanged(self, name: str, part: str) -> bool:
        path = self.path / name
        return path.is_file() and sha256_of(path) == self.parts[part]["files"][name]["sha256"]


OUT = Path("reports/output")
PARTS = ("tables", "figures")
PAGE = "report.html"
MAX_FOLDER_NAME = 100
"""Characters: file systems accept at most 255 bytes."""


@dataclass(frozen=True)
class Report:
    """Summary of a report build.

    The last four fields are lists of lines to print. `labels`: labels of the data; `left_out`: omitted runs on other
    data; `absent`: missing runs and data; `failures`: tables, figures or the page that could not be created.
    """

    out: Path
    tables: int
    figures: int
    drawn: int
    is_unchanged: bool
    analysis_runs: tuple[str, ...]
    labels: tuple[str, ...]
    left_out: tuple[str, ...]
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
    """Update a report, and return its summary.

    Args:
        uri: the MLflow store; by default `MLFLOW_TRACKING_URI`, or the SQLite file in the working directory.
        names: experiments, or patterns of their names; none means all.
        out: the folder to write to, by default `folder_of(names)`; it holds one report, the latest.
        only: `tables` or `figures`: make nothing else, no page, nothing in MLflow.
        log: whether to log the tables and figures to MLflow.
    """
    results = read_results(uri)
    if results.all_runs.empty and not results.boards:
        left_out = results.left_out_sentences()
        condition = f" on the currently prepared data ({'; '.join(left_out)})" if left_out else ""
        raise ValueError(f"no finished runs in {without_user(results.uri)}{condition}; run `fedbandit run` first")
    known = sorted({*experiment_names(), *results.experiments()})  # including those without runs
    experiments = matching_names("experiment", names, known)
    results = results.only(experiments)
    out = folder_of(names) if out is None else out
    with locked(out, "report"):
        return Builder(results, OutputFolder.open(out), is_full=not names).update(only, log)


def folder_of(names: Sequence[str]) -> Path:
    """Return the folder of a report; a report on some experiments has its own, and does not change the full one."""
    name = "+".join(re.sub(r"[^\w.-]", "_", name) for name in names)
    if len(name) > MAX_FOLDER_NAME:
        name = f"{name[:MAX_FOLDER_NAME]}-{digest(name)[:8]}"
    return OUT / name


class Builder:
    """Builds one report."""

    def __init__(self, results: Results, folder: OutputFolder, *, is_full: bool = True) -> None:
        self.results, self.folder, self.is_full = results, folder, is_full
        self.inputs = inputs_hash(results)
        self.failures: list[str] = []
        self.drawn = 0
        self.contents: dict[str, str] = {}
        """A hash of what each figure shows and of the code, by its name."""

    def update(self, only: str | None, log: bool) -> Report:
        """Make the requested parts unless they are up to date."""
        parts = (only,) if only else (*PARTS, "page")
        is_logged = bool(only) or not log or self.folder.recorded == self.inputs
        if is_logged and all(self.folder.is_current(part, self.inputs) for part in parts):
            self.results.absent[:] = self.folder.absent
            return self._report(is_unchanged=True)
        with Drawing(self.folder.path / "figures") as drawing:
            figures = self._figures(drawing) if only != "tables" else []
            tables = self._tables() if only != "figures" else []
            if only != "tables":
                self._draw(figures, drawing)
        if not only:
            self._page(tables, figures)
        runs = self._log(tables, figures) if log and not only else ()
        self.folder.absent = self.results.absent
        self.folder.save()
        return self._report(analysis_runs=tuple(runs))

    def _make(self, kind: str, task: str) -> Iterator[list[Any]]:
        """Let each module make its tables or figures; one that fails makes none, and does not stop the others."""
        for module in counted(makers(f"reports.{kind}"), f"report: {task} {kind}", "kinds"):
            items: list[Any] = []
            try:
                made = getattr(module, kind)(self.results)
                items = [replace(item, name=file_name(item.name)) for item in made]
            except Exception as error:
                self._note_failure(f"the {kind} of {module.__name__}", error)
            yield items

    def _tables(self) -> list[Table]:
        tables: list[Table] = [table for made in self._make("tables", "making") for table in made]
        files = {}
        for table in tables:
            for suffix, content in table.texts.items():
                name = f"tables/{table.name}{suffix}"
                self.folder.put(name, content.encode())
                files[name] = self.inputs
        self.folder.close_part("tables", self._inputs_if_complete(), files)
        return tables

    def _figures(self, drawing: Drawing) -> list[Figure]:
        """Make the charts, kind by kind; those that have changed are drawn meanwhile."""
        figures: list[Figure] = []
        code = code_hash()
        for planned in self._make("figures", "planning"):
            self.contents |= {figure.name: digest([figure.content(), code]) for figure in planned}
            drawing.start([figure for figure in planned if not self._saved(figure)])
            figures += planned
        return figures

    def _saved(self, figure: Figure) -> list[str]:
        """Return the files of a figure if they show what it shows now."""
        return self.folder.saved_files("figures", figure.name, self.contents[figure.name])

    def _draw(self, figures: Sequence[Figure], drawing: Drawing) -> None:
        """Wait for the figures that are being drawn, and record the files of all figures."""
        files = {name: self.contents[figure.name] for figure in figures for name in self._saved(figure)}
        for figure in counted(drawing.figures, "report: drawing figures", "figures"):
            try:
                paths = drawing.saved(figure)
            except Exception as error:
                self._note_failure(f"figure {figure.name}", error)
                continue
            self.drawn += 1
            names = [path.relative_to(self.folder.path).as_posix() for path in paths]
            files |= dict.fromkeys(names, self.contents[figure.name])
        self.folder.close_part("figures", self._inputs_if_complete(), files)

    def _page(self, tables: Sequence[Table], figures: Sequence[Figure]) -> None:
        from reports.page.page import write_page

        try:
            pages = write_page(self.folder.path / PAGE, self.results, tables, figures)
        except Exception as error:
            self._note_failure("the page", error)
            return
        self.folder.close_part("page", self._inputs_if_complete(), {page.name: self.inputs for page in pages})

    def _log(self, tables: Sequence[Table], figures: Sequence[Figure]) -> Sequence[str]:
        from reports.write.record import record

        files: dict[str, list[Path]] = {figure.name: [] for figure in figures}
        for name in self.folder.parts["figures"]["files"]:
            files[Path(name).stem].append(self.folder.path / name)
        try:
            pages = [self.folder.path / name for name in self.folder.parts.get("page", {}).get("files", ())]
            runs = record(self.results, tables, figures, files, pages, is_full=self.is_full)
        except (OSError, ValueError) as error:  # a read-only store, or an unreachable server
            self._note_failure("the analysis runs in MLflow", error)
            return ()
        self.folder.recorded = self._inputs_if_complete()
        self.folder.save()
        return runs

    def _note_failure(self, what: str, error: Exception) -> None:
        """Add one line on a failure; FEDBANDIT_DEBUG=1 also prints the traceback."""
        self.failures.append(f"could not create {what}: {type(error).__name__}: {' '.join(str(error).split())[:300]}")
        if os.environ.get("FEDBANDIT_DEBUG"):
            traceback.print_exception(error, file=sys.stderr)

    def _inputs_if_complete(self) -> str:
        """Return no inputs after a failure, so that the next build tries again."""
        return "" if self.failures else self.inputs

    def _report(self, *, is_unchanged: bool = False, analysis_runs: tuple[str, ...] = ()) -> Report:
        names = {part: {Path(name).stem for name in entry["files"]} for part, entry in self.folder.parts.items()}
        return Report(
            out=self.folder.path,
            tables=len(names.get("tables", ())),
            figures=len(names.get("figures", ())),
            drawn=self.drawn,
            is_unchanged=is_unchanged,
            analysis_runs=analysis_runs,
            labels=self.results.labels(self.results.all_runs),
            left_out=tuple(self.results.left_out_sentences()),
            absent=tuple(self.results.absent),
            failures=tuple(self.failures),
        )
