"""The table of run records in `docs/records`, from which `make docs` rebuilds the page of results without the store.

`make records` writes it from the runs in MLflow: one row per run with its record and metrics, the totals of the
activity groups, and what is known about the data. It has no row of any data set and no identifier of a user.
"""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from benchmark.metrics import metric_names
from benchmark.records.reader import read
from benchmark.records.record import RunRecord
from benchmark.records.tags import RECORD
from data_pipelines.prepare.prepared import NotPreparedError, data_folder, read_manifest
from data_pipelines.support.files import write_whole
from reports.analysis.claims import judged_claims
from reports.analysis.group_totals import EXPERIMENT, group_totals
from reports.read.context import Context, make_context
from reports.read.results import VERSIONS, Results, read_results, versions_of
from reports.read.run_table import as_runs, columns
from reports.read.tuned import tuned_experiment
from reports.tables import equal_regret

RECORDS = Path(__file__).parents[2] / "docs" / "records"
RUNS, GROUPS, ABOUT = "runs.parquet", "groups.parquet", "about.json"
OF_ONE_MACHINE = "machine"
OF_GROUPS = ["run_id", "group", "least", "users", "interactions", "uploads", "reward"]


def main() -> int:
    """Write the records of the current store."""
    results = read_results()
    write(results, make_context(results), RECORDS)
    print(f"wrote {len(results.runs) + len(results.tuning):,} records to {RECORDS}")
    return 0


def write(results: Results, context: Context, folder: Path = RECORDS) -> None:
    """Write the records of a report."""
    kept = {*results.runs["run_id"], *results.tuning["run_id"]}
    records = [record for record in read(results.uri) if record.run_id in kept]
    judged_claims(results, context)  # computes what needs the data themselves
    equal_regret.tables(results, context)
    folder.mkdir(parents=True, exist_ok=True)
    _write_table(folder / RUNS, pd.DataFrame([_row(record) for record in records]))
    for stream in _streams_of_groups(results):
        group_totals(results, context, stream)
    totals = [*context.group_totals.values()]
    _write_table(folder / GROUPS, pd.concat(totals)[OF_GROUPS] if totals else pd.DataFrame(columns=OF_GROUPS))
    about = {
        "manifests": {name: _without_arrays(manifest) for name, manifest in context.manifests.items()},
        "centre": context.centre,
        "synchronisations": results.counted,
    }
    write_whole(folder / ABOUT, json.dumps(about, indent=1, sort_keys=True, ensure_ascii=False).encode())


def read_committed(folder: Path = RECORDS) -> tuple[Results, Context]:
    """Return the results and their context as `write` saved them."""
    table = pd.read_parquet(folder / RUNS)
    records = [_record(row) for row in table.to_dict("records")]
    about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
    runs, tuning = (
        as_runs([record for record in records if (record.experiment == tuned_experiment()) == is_tuned])[columns()]
        for is_tuned in (False, True)
    )
    counted, versions = about["synchronisations"], versions_of(records)
    results = Results(runs, "docs/records", versions=versions, counted=counted, tuning=tuning)
    context = make_context(results)
    context.manifests = about["manifests"]
    context.centre.update(about["centre"])
    context.withhold(name for name, manifest in about["manifests"].items() if not _is_prepared(name, manifest))
    groups = pd.read_parquet(folder / GROUPS).merge(results.all_runs, on="run_id", suffixes=("", "_of_run"))
    studies = results.all_runs[results.all_runs["experiment"].isin([EXPERIMENT, tuned_experiment()])]
    for experiment, stream in set(zip(studies["experiment"], studies["stream"], strict=True)):
        part = groups[(groups["experiment"] == experiment) & (groups["stream"] == stream)]
        context.group_totals[experiment, stream] = part.reset_index(drop=True)
    return results, context


def _row(record: RunRecord) -> dict[str, Any]:
    shared = {
        tag: value for tag, value in record.provenance.items() if VERSIONS.get(tag, OF_ONE_MACHINE) != OF_ONE_MACHINE
    }
    text = replace(record, provenance=shared).to_json()
    about = {"experiment": record.experiment, "run_id": record.run_id, "record": text}
    return about | {name: record.metrics.get(name) for name in metric_names()}


def _record(row: dict[str, Any]) -> RunRecord:
    metrics = {name: row[name] for name in metric_names() if pd.notna(row.get(name))}
    about = {"run_id": row["run_id"], "experiment": row["experiment"]}
    return RunRecord.from_mlflow({}, {RECORD: row["record"]}, metrics, **about)


def _streams_of_groups(results: Results) -> list[str]:
    return sorted(results.runs.loc[results.runs["experiment"] == EXPERIMENT, "stream"].unique())


def _without_arrays(manifest: Any) -> dict[str, Any]:
    return {name: value for name, value in manifest.items() if name != "origin"} | {"origin": ""}


def _is_prepared(name: str, manifest: Any) -> bool:
    try:
        return bool(read_manifest(data_folder() / name)["fingerprint"] == manifest["fingerprint"])
    except NotPreparedError:
        return False


def _write_table(path: Path, frame: pd.DataFrame) -> None:
    write_whole(path, frame.to_parquet(index=False, compression="zstd"))


if __name__ == "__main__":
    sys.exit(main())
