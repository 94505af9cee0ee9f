"""A report in MLflow: one analysis run per experiment holds its figures and tables, for the MLflow UI."""

import tempfile
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from benchmark.records.provenance import provenance, sweep_tags
from benchmark.records.store import Store
from benchmark.records.tags import KIND
from benchmark.records.tracking import patiently
from data_pipelines.support.files import sha256_of
from data_pipelines.support.progress import counted
from reports.read.context import Context
from reports.read.inputs import digest
from reports.read.results import Results
from reports.write.table import Table

if TYPE_CHECKING:
    from mlflow.entities import Run as MlflowRun

    from reports.drawing.figure import Figure

ANALYSIS = "analysis"
CONTENT = "fedbandit.report_content"
"""Tag of an analysis run: the hash of its files."""

HEAD = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><style>body{{font:14px sans-serif}}'
    "table{{border-collapse:collapse}}td,th{{padding:2px 8px;border-bottom:1px solid #ccc;text-align:left}}"
    ".number{{text-align:right}}</style>\n"
)


def record(
    results: Results,
    context: Context,
    tables: Sequence[Table],
    figures: Sequence["Figure"],
    files: Mapping[str, Sequence[Path]],
) -> list[str]:
    """Update the analysis runs, and return the experiments that have one.

    `files` are the saved files of each figure, by its name.
    """
    store = Store(results.uri)
    names = results.experiments()
    for name in counted(names, "report: writing to MLflow", "experiments"):
        figure_files = [path for figure in figures if name in figure.experiments for path in files[figure.name]]
        experiment_tables = [table for table in tables if not table.experiments or name in table.experiments]
        with tempfile.TemporaryDirectory() as folder:
            content = gather(Path(folder), experiment_tables, figure_files)
            runs = results.all_runs[results.all_runs["experiment"] == name]
            _update(store, name, Path(folder), content, context.labels(runs))
    return names


def gather(folder: Path, tables: Sequence[Table], figures: Sequence[Path]) -> str:
    """Put the files of an analysis run into a folder, and return their hash."""
    for kind in ("figures", "tables"):
        (folder / kind).mkdir()
    for path in figures:
        (folder / "figures" / path.name).write_bytes(path.read_bytes())
    for table in tables:
        page = HEAD.format(title=escape(table.title)) + table.html()
        for suffix, content in ((".html", page), (".md", table.markdown()), (".csv", table.csv())):
            (folder / "tables" / f"{table.name}{suffix}").write_text(content, encoding="utf-8")
    return digest({path.relative_to(folder).as_posix(): sha256_of(path) for path in folder.rglob("*.*")})


def _update(store: Store, name: str, folder: Path, content: str, labels: Sequence[str]) -> None:
    """Keep the analysis run with this content; without one, write it. Then delete all other analysis runs."""
    experiment = store.find(name)
    if experiment is None or experiment.lifecycle_stage != "active":
        return
    earlier_runs = _analysis_runs(store, experiment.experiment_id)
    current = [run for run in earlier_runs if run.info.status == "FINISHED" and run.data.tags.get(CONTENT) == content]
    if not current:
        warnings = "".join(f"\n\n**{label}**" for label in labels)
        note = f"Figures and tables of `fedbandit report`: see the artifacts.{warnings}"
        tags = {**sweep_tags(), **provenance(), KIND: ANALYSIS, CONTENT: content, "mlflow.note.content": note}
        uri, client = store.uri, store.client
        run = patiently(uri, lambda: client.create_run(experiment.experiment_id, tags=tags, run_name="report"))
        patiently(uri, lambda: client.log_artifacts(run.info.run_id, str(folder)))
        patiently(uri, lambda: client.set_terminated(run.info.run_id, "FINISHED"))
    for earlier in earlier_runs:
        if earlier not in current[:1]:
            patiently(store.uri, lambda earlier=earlier: store.client.delete_run(earlier.info.run_id))  # type: ignore[misc]


def _analysis_runs(store: Store, experiment_id: str) -> "list[MlflowRun]":
    """Return all analysis runs, including those that a killed process left unfinished."""
    return [
        run
        for status in ("FINISHED", "RUNNING", "FAILED", "KILLED")
        for run in store.search(experiment_id, status, ANALYSIS)
    ]
