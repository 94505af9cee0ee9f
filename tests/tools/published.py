"""`reports/published.json`: the published verdicts on the paper's claims, for reports whose runs do not decide them."""

import json
import math
from collections.abc import Iterator

import pandas as pd

from benchmark.plan.experiment import QUICK, load_experiment
from data_pipelines.support.files import write_whole
from reports.analysis.claims import DIRECTION, Judged, judged_cells, judged_claims
from reports.paper import paper, stream_of, variant_labels
from reports.published import FILE
from reports.read.results import Results
from reports.tables.claims import SUMMARIES, cell_text, claims_by_column, counts_text, is_decided, row_of

METHOD = "async-linucb"
"""What it earns without communication is compared with the published number, where the data are another copy."""


def write_published(results: Results) -> None:
    """Write the file."""
    write_whole(FILE, published(results).encode())


def published(results: Results) -> str:
    """Return what a report needs: verdicts, what learning alone earns, and the time of the experiments."""
    verdicts: dict[str, dict[str, str]] = {name: {} for name in variant_labels()}
    for cell in _cells(results):
        if is_decided(cell):
            text = cell_text(cell) if cell[0].kind == DIRECTION else counts_text(cell)
            verdicts[cell[0].variant][": ".join(row_of(cell))] = text
    experiments = sorted({str(claim["experiment"]) for kind in ("directions", "numbers") for claim in paper()[kind]})
    times = {name: _seconds_per_seed(results.runs_of(name), name) for name in experiments}
    content = {"verdicts": verdicts, "alone": _alone(results.runs), "seconds_per_seed": times}
    return json.dumps(content, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def _cells(results: Results) -> Iterator[list[Judged]]:
    """Yield the claims of each cell of the matrix."""
    for columns in claims_by_column(results).values():
        yield from (part for part in columns.values() if part and part[0].kind == DIRECTION)
    everything = [*judged_claims(results), *judged_cells(results)]
    for kind in SUMMARIES:
        for variant in variant_labels():
            if part := [claim for claim in everything if (claim.kind, claim.variant) == (kind, variant)]:
                yield part


def _alone(runs: pd.DataFrame) -> dict[str, dict[str, object]]:
    """Return what learning alone earns on each stream of a claim about real data, and the fingerprint of these data."""
    claims = [claim for claim in paper()["directions"] if claim["test"] == "contrast"]
    streams = {stream_of(claim["dataset"], name): claim["experiment"] for claim in claims for name in variant_labels()}
    rows = {}
    for stream, experiment in streams.items():
        of_method = runs[(runs["experiment"] == experiment) & (runs["stream"] == stream)]
        alone = of_method[(of_method["algorithm"] == METHOD) & (of_method["threshold"] == math.inf)]
        if len(alone):
            reward = round(float(alone["normalised_reward"].mean()), 4)
            rows[str(stream)] = {"method": METHOD, "reward": reward, "data": str(alone["prepared"].iloc[0])}
    return rows


def _seconds_per_seed(runs: pd.DataFrame, experiment: str) -> float:
    """Return the CPU time of the runs of a seed at the thresholds of the quick profile."""
    loaded = load_experiment(experiment)
    parts = {stream.name: part for entry, part in loaded.parts(loaded.profile(QUICK)) for stream in entry.streams}
    seconds = 0.0
    for entry in loaded.algorithms:
        for dataset, part in runs[runs["algorithm"] == entry.name].groupby("dataset"):
            if entry.front is not None and str(dataset) in parts and "grid" in entry.parameters.values():
                wanted = parts[str(dataset)].thresholds(entry.front)
                part = part[[any(math.isclose(each, value) for value in wanted) for each in part["threshold"]]]
            seconds += float(part.loc[part["seed"] == 0, "cpu_seconds"].sum())
    return round(seconds, 1)
