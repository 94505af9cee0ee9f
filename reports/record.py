"""A report in MLflow: one analysis run in each experiment carries its figures and tables, for MLflow's pages."""

import tempfile
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from benchmark.facts import facts
from benchmark.store import Store
from benchmark.tags import KIND
from benchmark.tracking import patiently
from data_pipelines.safe_files import sha256_of
from reports.context import Context
from reports.display import Display
from reports.inputs import digest
from reports.results import Results
from reports.table import Table

if TYPE_CHECKING:
    from mlflow.entities import Run as MlflowRun

ANALYSIS = "analysis"
CONTENT = "fedbandit.report_content"
"""The tag with the hash of the files that an analysis run carries."""

EMBEDDINGS = "users_"
"""How the names of the embeddings' figures begin; they belong to the study of user groups."""

HEAD = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><style>body{{font:14px sans-serif}}'
    "table{{border-collapse:collapse}}td,th{{padding:2px 8px;border-bottom:1px solid #ccc;text-align:left}}"
    ".number{{text-align:right}}</style>\n"
)


def record(
    results: Results,
    context: Context,
    tables: Sequence[Table],
    figures: Mapping[str, Sequence[Path]],
    display: Display,
) -> list[str]:
    """Bring the analysis runs up to date and return the experiments that have one. `figures` are files by name."""
    store = Store(results.uri)
    names = results.experiments()
    display.more(len(names))
    for name in names:
        own_figures = [
            path for figure, paths in figures.items() if experiment_of(figure, names) == name for path in paths
        ]
        own_tables = [table for table in tables if not table.experiments or name in table.experiments]
        with tempfile.TemporaryDirectory() as folder:
            content = gather(Path(folder), own_tables, own_figures)
            runs = results.runs[results.runs["experiment"] == name]
            _bring_up_to_date(store, name, Path(folder), content, context.labels(runs))
        display.count(f"MLflow {name}")
    return names


def experiment_of(figure: str, experiments: Sequence[str]) -> str:
    """Return the experiment that a figure's name begins with, the longest such; embeddings go with the user groups."""
    if figure.startswith(EMBEDDINGS):
        return "user_groups"
    return max((name for name in experiments if figure.startswith(name)), key=len, default="")


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


def _bring_up_to_date(store: Store, name: str, folder: Path, content: str, labels: Sequence[str]) -> None:
    """Keep the analysis run that carries this content; else write a new one, and then delete those before it."""
    experiment = store.find(name)
    if experiment is None or experiment.lifecycle_stage != "active":
        return
    before = _analysis_runs(store, experiment.experiment_id)
    current = [run for run in before if run.info.status == "FINISHED" and run.data.tags.get(CONTENT) == content]
    if not current:
        note = "Figures and tables of `fedbandit report`: see the artifacts." + "".join(
            f"\n\n**{each}**" for each in labels
        )
        tags = {**facts(), KIND: ANALYSIS, CONTENT: content, "mlflow.note.content": note}
        uri, client = store.uri, store.client
        made = patiently(uri, lambda: client.create_run(experiment.experiment_id, tags=tags, run_name="report"))
        patiently(uri, lambda: client.log_artifacts(made.info.run_id, str(folder)))
        patiently(uri, lambda: client.set_terminated(made.info.run_id, "FINISHED"))
    for run in before:
        if run not in current[:1]:
            patiently(store.uri, lambda run=run: store.client.delete_run(run.info.run_id))  # type: ignore[misc]


def _analysis_runs(store: Store, experiment_id: str) -> "list[MlflowRun]":
    """All analysis runs, those included that a killed process left half written."""
    return [
        run
        for status in ("FINISHED", "RUNNING", "FAILED", "KILLED")
        for run in store.search(experiment_id, status, ANALYSIS)
    ]
