"""A report in MLflow: one analysis run per experiment holds its figures and tables, for the MLflow UI."""

import math
import re
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from benchmark.records.provenance import provenance, sweep_tags
from benchmark.records.store import Store
from benchmark.records.tags import KIND
from benchmark.records.tracking import patiently
from benchmark.statistics.verdicts import count_verdicts
from benchmark.ui.pages import OVERVIEW, OVERVIEW_INFO
from data_pipelines.support.files import sha256_of
from data_pipelines.support.messages import storable
from data_pipelines.support.progress import counted
from reports.read.context import Context
from reports.read.inputs import digest
from reports.read.results import Results
from reports.write.table import Table

if TYPE_CHECKING:
    from mlflow.entities import Run as MlflowRun
    from mlflow.tracking import MlflowClient

    from reports.analysis.claims import Judged
    from reports.write.figure import Figure

ANALYSIS = "analysis"
CONTENT = "fedbandit.report_content"
"""Tag of an analysis run: the hash of its files, description and metrics."""

MAX_PICTURES = 8
"""Pictures in a description; all figures are among the artifacts."""

MAX_TAG = 8000

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
    page: Path | None = None,
    *,
    is_full: bool = True,
) -> list[str]:
    """Update the analysis runs, and return the experiments that have one.

    `files` are the saved files of each figure, by its name. The `page` of a full report is in the experiment
    `overview`, that of a report on some experiments in the first of them.
    """
    store = Store(results.uri)
    names = results.experiments()
    for name in counted(names, "report: writing to MLflow", "experiments"):
        with_page = page if not is_full and name == names[0] else None
        runs = results.all_runs[results.all_runs["experiment"] == name]
        with tempfile.TemporaryDirectory() as folder:
            figure_files = [path for figure in figures if name in figure.experiments for path in files[figure.name]]
            experiment_tables = [table for table in tables if not table.experiments or name in table.experiments]
            content = gather(Path(folder), experiment_tables, figure_files, with_page)
            shown = [figure for figure in figures if name in figure.experiments]
            note = Note(
                f"Figures and tables of fedbandit report on {name}.", context.labels(runs), _titles(shown, files)
            )
            claims = [claim for claim in context.judged if claim.experiment == name]
            values = {"finished runs": float(len(runs)), **claim_counts(claims), **_best_scores(results, name)}
            _update(store, name, Path(folder), content, note, values)
    if page is not None and is_full and names:
        if store.find(OVERVIEW) is None:
            store.experiment_id(OVERVIEW_INFO)
        with tempfile.TemporaryDirectory() as folder:
            content = gather(Path(folder), [], [], page)
            note = Note(
                "The report on all experiments: open the artifact report.html.", context.labels(results.all_runs)
            )
            values = {"finished runs": float(len(results.all_runs)), **claim_counts(context.judged)}
            _update(store, OVERVIEW, Path(folder), content, note, values)
    return names


@dataclass(frozen=True)
class Note:
    """The description of an analysis run: a sentence, the labels of its data, and its figures with their titles."""

    sentence: str
    labels: Sequence[str]
    figures: Sequence[tuple[str, str]] = ()

    def text(self, run_id: str) -> str:
        """Return it as MLflow shows it; pictures are addressed by the id of the run, among its artifacts."""
        pictures = [
            f"{title}\n\n![{title}](get-artifact?{urlencode({'path': f'figures/{name}', 'run_uuid': run_id})})"
            for name, title in self.figures[:MAX_PICTURES]
        ]
        return "\n\n".join([self.sentence, *self.labels, *pictures])[:MAX_TAG]


def _titles(figures: Sequence["Figure"], files: Mapping[str, Sequence[Path]]) -> list[tuple[str, str]]:
    """Return the file and the title of each figure that was saved as PNG."""
    return [
        (path.name, re.sub(r"[\[\]\n]", " ", figure.title))
        for figure in figures
        for path in files[figure.name]
        if path.suffix == ".png"
    ]


def claim_counts(claims: "Sequence[Judged]") -> dict[str, float]:
    """Return the number of the paper's claims by verdict, by the names that MLflow shows; none without claims."""
    counts = count_verdicts(claim.verdict for claim in claims)
    return {f"claims {verdict}": float(count) for verdict, count in counts.items() if count} if claims else {}


def _best_scores(results: Results, name: str) -> dict[str, float]:
    """Return the highest mean score of a board within each budget; nothing if the experiment is not a board."""
    scores: dict[str, float] = {}
    for board in results.boards:
        if board.experiment == name:
            result = board.result
            for budget in result.budgets:
                means = [result.mean(entry.name, budget)[0] for entry in result.contenders]
                known = [mean for mean in means if math.isfinite(mean)]
                limit = "without a limit" if math.isinf(budget) else f"within {budget:g} transfers per client"
                scores |= {f"best score {limit}": max(known)} if known else {}
    return scores


def gather(folder: Path, tables: Sequence[Table], figures: Sequence[Path], page: Path | None = None) -> str:
    """Put the files of an analysis run into a folder, and return their hash."""
    if page is not None and page.is_file():
        (folder / page.name).write_bytes(page.read_bytes())
    for kind, files in (("figures", figures), ("tables", tables)):
        if files:
            (folder / kind).mkdir()
    for path in figures:
        (folder / "figures" / path.name).write_bytes(path.read_bytes())
    for table in tables:
        html = HEAD.format(title=escape(table.title)) + table.html()
        for suffix, content in ((".html", html), (".md", table.markdown()), (".csv", table.csv())):
            (folder / "tables" / f"{table.name}{suffix}").write_text(content, encoding="utf-8")
    return digest({path.relative_to(folder).as_posix(): sha256_of(path) for path in folder.rglob("*.*")})


def _update(store: Store, name: str, folder: Path, files: str, note: Note, values: Mapping[str, float]) -> None:
    """Keep the analysis run with this content; without one, write it. Then delete all other analysis runs."""
    experiment = store.find(name)
    if experiment is None or experiment.lifecycle_stage != "active":
        return
    content = digest([files, note.text(""), dict(values)])
    earlier_runs = _analysis_runs(store, experiment.experiment_id)
    current = [run for run in earlier_runs if run.info.status == "FINISHED" and run.data.tags.get(CONTENT) == content]
    if not current:
        tags = {**sweep_tags(), **provenance(), KIND: ANALYSIS, CONTENT: content}
        uri, client = store.uri, store.client
        run = patiently(uri, lambda: client.create_run(experiment.experiment_id, tags=tags, run_name="report"))
        run_id, now = str(run.info.run_id), int(time.time() * 1000)
        patiently(uri, lambda: _describe(client, run_id, values, note, now))
        patiently(uri, lambda: client.log_artifacts(run_id, str(folder)))
        patiently(uri, lambda: client.set_terminated(run_id, "FINISHED"))
    for earlier in earlier_runs:
        if earlier not in current[:1]:
            patiently(store.uri, lambda earlier=earlier: store.client.delete_run(earlier.info.run_id))  # type: ignore[misc]


def _describe(client: "MlflowClient", run_id: str, values: Mapping[str, float], note: Note, now: int) -> None:
    from mlflow.entities import Metric, RunTag

    metrics = [Metric(name, value, now, 0) for name, value in values.items()]
    client.log_batch(run_id, metrics=metrics, tags=[RunTag("mlflow.note.content", storable(note.text(run_id)))])


def _analysis_runs(store: Store, experiment_id: str) -> "list[MlflowRun]":
    """Return all analysis runs, including those that a killed process left unfinished."""
    return [
        run
        for status in ("FINISHED", "RUNNING", "FAILED", "KILLED")
        for run in store.search(experiment_id, status, ANALYSIS)
    ]
