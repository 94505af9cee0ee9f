"""Finished runs as a tidy table, one row per run or per setting, in a file format."""

import io
from collections.abc import Sequence

import pandas as pd

from benchmark.answers.stored import shown_records
from benchmark.answers.tables import run_table, setting_table
from benchmark.records.reader import experiments_with_runs, read
from benchmark.records.store import Store
from benchmark.records.tracking import tracking_uri
from data_pipelines.support.messages import matching_names


def exported(names: Sequence[str], per: str = "run", store: str | None = None) -> tuple[pd.DataFrame, list[str]]:
    """Return the table of some experiments, by default all, and sentences on runs that are left out."""
    uri = store or tracking_uri()
    experiments = experiments_named(names, sorted(experiments_with_runs(Store(uri))))
    records = [record for record in read(uri, experiments) if record.status == "FINISHED"]
    records, notes = shown_records(records)
    parts = []
    for experiment in experiments:
        runs = run_table([record for record in records if record.experiment == experiment])
        parts.append(runs if per == "run" else setting_table(runs).assign(experiment=experiment))
    table = pd.concat([part for part in parts if len(part)], ignore_index=True) if any(map(len, parts)) else parts[0]
    return table[["experiment", *(name for name in table.columns if name != "experiment")]], notes


def experiments_named(names: Sequence[str], known: Sequence[str]) -> list[str]:
    """Return the experiments with runs that have these names or match these patterns; all without names."""
    if not known:
        raise ValueError("there are no finished runs yet; start with `fedbandit run`")
    return matching_names("experiment with finished runs", names, known)


def as_bytes(table: pd.DataFrame, kind: str) -> bytes:
    """Return a table as CSV, JSON (a list of objects) or Parquet; values that are not plain are texts."""
    plain = table.map(_plain)
    if kind == "csv":
        return plain.to_csv(index=False).encode()
    if kind == "json":
        return (plain.to_json(orient="records", force_ascii=False, indent=1) + "\n").encode()
    buffer = io.BytesIO()
    _one_type_per_column(plain).to_parquet(buffer, index=False)
    return buffer.getvalue()


def _plain(value: object) -> object:
    return value if value is None or isinstance(value, str | bool | int | float) else str(value)


def _one_type_per_column(table: pd.DataFrame) -> pd.DataFrame:
    """Turn columns with texts and numbers, such as alpha (0.3 or theory), into texts: Parquet has one type each."""
    mixed = [
        name for name in table.columns if table[name].dtype == object and len({*map(type, table[name].dropna())}) > 1
    ]
    return table.astype(dict.fromkeys(mixed, str))
