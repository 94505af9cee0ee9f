"""A report in MLflow: one analysis run per experiment holds its figures and tables, for the MLflow UI."""

import hashlib
import io
import math
import re
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from benchmark.records.provenance import provenance, sweep_tags
from benchmark.records.reader import read_aggregates
from benchmark.records.store import Store
from benchmark.records.tags import KIND, ORDER, SHOWN
from benchmark.records.tracking import patiently
from benchmark.statistics.verdicts import count_verdicts
from benchmark.ui.pages import OVERVIEW, OVERVIEW_INFO
from benchmark.ui.settings import METHOD
from data_pipelines.support.messages import storable
from data_pipelines.support.progress import counted
from reports.labels import dataset_label
from reports.page.answer import board_sentence, main_streams, make_answer, stream_sentence
from reports.read.inputs import digest
from reports.read.results import Results
from reports.write.table import Table

if TYPE_CHECKING:
    from reports.analysis.claims import Judged
    from reports.write.figure import Figure

ANALYSIS = "analysis"
CONTENT = "fedbandit.report_content"
"""Tag of an analysis run: the hash of its files, description and metrics."""

MAX_PICTURES = 8
"""Pictures in a description; all figures are among the artifacts."""

PREVIEW_WIDTH = 500
"""Pixels: the width of the description in a window of 1,280."""

MAX_TAG = 8000

HEAD = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><style>body{{font:14px sans-serif}}'
    "table{{border-collapse:collapse}}td,th{{padding:2px 8px;border-bottom:1px solid #ccc;text-align:left}}"
    ".number{{text-align:right}}</style>\n"
)


@dataclass(frozen=True)
class Analysis:
    """What an analysis run shows: what was found, the labels of its data, metrics, and files.

    `files` are the saved files of figures, by the name of the figure.
    """

    findings: Sequence[str]
    labels: Sequence[str]
    metrics: Mapping[str, float]
    tables: Sequence[Table] = ()
    figures: Sequence["Figure"] = ()
    files: Mapping[str, Sequence[Path]] = field(default_factory=dict)
    pages: Sequence[Path] = ()

    def note(self, run_id: str) -> str:
        """Return its description for MLflow; pictures are addressed by the id of the run, among its artifacts."""
        titles = [(path.name, re.sub(r"[\[\]\n]", " ", title)) for path, title in self._pictures]
        links = [
            f"{title}\n\n![{title}](get-artifact?{urlencode({'path': f'previews/{name}', 'run_uuid': run_id})})"
            for name, title in titles
        ]
        return "\n\n".join([*self.findings, *self.labels, *links])[:MAX_TAG]

    @property
    def _pictures(self) -> list[tuple[Path, str]]:
        """The first pictures, with their titles."""
        files = [(path, figure.title) for figure in self.figures for path in self.files[figure.name]]
        return [(path, title) for path, title in files if path.suffix == ".png"][:MAX_PICTURES]

    def write(self, folder: Path) -> str:
        """Put its files into a folder; return a hash of them, of the description and of the metrics."""
        contents = {page.name: page.read_bytes() for page in self.pages if page.is_file()}
        for path in (path for figure in self.figures for path in self.files[figure.name]):
            contents[f"figures/{path.name}"] = path.read_bytes()
        contents |= {f"previews/{path.name}": preview(path) for path, _ in self._pictures}
        for table in self.tables:
            html = HEAD.format(title=escape(table.title)) + table.html()
            for suffix, text in {**table.texts, ".html": html}.items():
                contents[f"tables/{table.name}{suffix}"] = text.encode()
        for name, content in contents.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(content)
        hashes = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
        return digest([hashes, self.note(""), dict(self.metrics)])


def preview(picture: Path) -> bytes:
    """Return a small copy of a picture: a description is as wide as its widest picture, and the page cuts its text."""
    from PIL import Image

    buffer = io.BytesIO()
    with Image.open(picture) as image:
        image.thumbnail((PREVIEW_WIDTH, image.height))
        image.save(buffer, "PNG")
    return buffer.getvalue()


def record(
    results: Results,
    tables: Sequence[Table],
    figures: Sequence["Figure"],
    files: Mapping[str, Sequence[Path]],
    pages: Sequence[Path] = (),
    *,
    is_full: bool = True,
) -> list[str]:
    """Update the analysis runs, and return the experiments that have one.

    `files` are the saved files of each figure, by its name. The `pages` of a full report are in the experiment
    `overview`, those of a report on some experiments in the first of them.
    """
    store, names = Store(results.uri), results.experiments()
    for name in counted(names, "report: writing to MLflow", "experiments"):
        runs = results.all_runs[results.all_runs["experiment"] == name]
        claims = [claim for claim in results.judged if claim.experiment == name]
        analysis = Analysis(
            findings(results, name, claims),
            results.labels(runs),
            {"finished runs": float(len(runs)), **claim_counts(claims), **_best_scores(results, name)},
            [table for table in tables if not table.experiments or name in table.experiments],
            sorted(
                (figure for figure in figures if name in figure.experiments),
                key=lambda figure: (figure.name != name, len(figure.experiments)),
            ),
            files,
            pages if not is_full and name == names[0] else (),
        )
        update_analysis(store, name, analysis)
    if pages and is_full and names:
        if store.find(OVERVIEW) is None:
            store.experiment_id(OVERVIEW_INFO)
        answer = make_answer(results)
        found = [f"{group.title}: {group.sentence}" for group in answer.groups] if answer else []
        found = ["All figures and tables are in the artifact report.html.", *found, *claims_sentence(results.judged)]
        metrics = {"finished runs": float(len(results.all_runs)), **claim_counts(results.judged)}
        update_analysis(store, OVERVIEW, Analysis(found, results.labels(results.all_runs), metrics, pages=pages))
    return names


def findings(results: Results, name: str, claims: "Sequence[Judged]") -> list[str]:
    """Return what the runs of an experiment say, in a few sentences."""
    boards = [board_sentence(board.result) for board in results.boards if board.experiment == name]
    streams = [stream for experiment, stream in main_streams(results) if experiment == name]
    sentences = {dataset_label(stream): stream_sentence(name, stream, results) for stream in streams}
    found = [f"{stream}: {sentence}" for stream, sentence in sentences.items() if sentence]
    found += [*boards, *claims_sentence(claims)]
    return found or [f"{results.about(name).title}. Figures and tables are among the artifacts."]


def claims_sentence(claims: "Sequence[Judged]") -> list[str]:
    """Return how many of the paper's claims have which verdict; nothing without claims."""
    counts = count_verdicts(claim.verdict for claim in claims)
    texts = [f"{count} {verdict}" for verdict, count in counts.items() if count]
    return [f"Claims and numbers of the paper: {', '.join(texts)}."] if texts else []


def claim_counts(claims: "Sequence[Judged]") -> dict[str, float]:
    """Return the number of the paper's claims by verdict, by the names that MLflow shows; none without claims."""
    counts = count_verdicts(claim.verdict for claim in claims)
    return {f"claims {verdict}": float(count) for verdict, count in counts.items() if count} if claims else {}


def _best_scores(results: Results, name: str) -> dict[str, float]:
    """Return the highest mean score of a board within each budget; nothing if the experiment is not a board."""
    scores: dict[str, float] = {}
    for result in (board.result for board in results.boards if board.experiment == name):
        for budget in result.budgets:
            means = [result.mean(entry.name, budget)[0] for entry in result.contenders]
            limit = "without a limit" if math.isinf(budget) else f"within {budget:g} messages per decision"
            if known := [mean for mean in means if math.isfinite(mean)]:
                scores[f"best score {limit}"] = max(known)
    return scores


def update_analysis(store: Store, name: str, analysis: Analysis) -> None:
    """Keep the analysis run with this content; without one, write it. Then delete all other analysis runs."""
    from mlflow.entities import Metric, RunTag

    experiment = store.find(name)
    if experiment is None or experiment.lifecycle_stage != "active":
        return
    earlier_runs = store.search(experiment.experiment_id, None, ANALYSIS)  # including those that were not finished
    data = {run.tags[SHOWN] for run in read_aggregates(store, [name]) if SHOWN in run.tags}
    first = {ORDER: "0", SHOWN: "".join(sorted(data))[:MAX_TAG], METHOD: "report"}  # on every page of settings
    with tempfile.TemporaryDirectory() as folder:
        content = digest([analysis.write(Path(folder)), first])
        finished = [run for run in earlier_runs if run.info.status == "FINISHED"]
        current = [run for run in finished if run.data.tags.get(CONTENT) == content]
        if not current:
            uri, client = store.uri, store.client
            tags = {**sweep_tags(), **provenance(), **first, KIND: ANALYSIS, CONTENT: content}
            run = patiently(uri, lambda: client.create_run(experiment.experiment_id, tags=tags, run_name="report"))
            run_id, now = str(run.info.run_id), int(time.time() * 1000)
            metrics = [Metric(metric, value, now, 0) for metric, value in analysis.metrics.items()]
            note = RunTag("mlflow.note.content", storable(analysis.note(run_id)))
            patiently(uri, lambda: client.log_batch(run_id, metrics=metrics, tags=[note]))
            patiently(uri, lambda: client.log_artifacts(run_id, folder))
            patiently(uri, lambda: client.set_terminated(run_id, "FINISHED"))
    for earlier in earlier_runs:
        if earlier not in current[:1]:
            patiently(store.uri, lambda earlier=earlier: store.client.delete_run(earlier.info.run_id))  # type: ignore[misc]
