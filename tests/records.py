"""The builder of records for tests: every made-up run is a `RunRecord`."""

import hashlib
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from algorithms.registry import known_method
from benchmark.metrics import metric_names
from benchmark.records import sqlite
from benchmark.records.record import SIZES, MethodRecord, RunRecord, StreamRecord
from benchmark.statistics.budgets import full_transfer

DEFAULTS = {"steps": 100, "clients": 10, "arms": 25, "dimension": 25}


@contextmanager
def unknown_schema() -> Iterator[None]:
    """Read SQLite files through MLflow's search, as if their tables were of an MLflow that is not known."""
    with patch.object(sqlite, "KNOWN_SCHEMAS", frozenset()):
        yield


def run_record(
    method: str = "async-linucb",
    front: float = 2.0,
    seed: int = 0,
    *,
    experiment: str = "fig_e",
    stream: str = "delicious",
    source: str = "official",
    fingerprint: str = "made up",
    prepared: str = "",
    settings: Mapping[str, Any] | None = None,
    **more: Any,
) -> RunRecord:
    """Return a finished run.

    `front` is γ or D, NaN for a method without one; `settings` are further hyper-parameters and, as `stream_NAME`,
    options or sizes of the stream. `more` are metrics, and other fields of a record, such as `run_id`.
    """
    info = known_method(method, None, () if math.isnan(front) else ("gamma",))
    parameter = "" if math.isnan(front) else info.parameter
    given = settings or {}
    of_stream = {name.removeprefix("stream_"): value for name, value in given.items() if name.startswith("stream_")}
    parameters = {name: value for name, value in given.items() if not name.startswith("stream_")}
    parameters |= {parameter: front} if parameter else {}
    metrics = {name: float(value) for name, value in more.items() if name in metric_names()}
    sizes = {name: of_stream.get(name, DEFAULTS[name]) for name in SIZES}
    if "communication" in metrics and "numbers_per_client" not in metrics:
        numbers = metrics["communication"] * full_transfer(sizes["dimension"])
        metrics["numbers_per_client"] = numbers / sizes["clients"]
    identity = f"{experiment} {method} {front} {seed} {sorted(given.items())} {stream} {source}"
    about = {"run_id": hashlib.sha256(identity.encode()).hexdigest()[:32]}
    about |= {name: value for name, value in more.items() if name not in metric_names()}
    return RunRecord(
        **{"key": about["run_id"], **about},
        experiment=experiment,
        seed=seed,
        stream=StreamRecord(
            stream,
            source,
            fingerprint,
            prepared,
            {name: value for name, value in of_stream.items() if name not in SIZES},
            sizes,
        ),
        method=MethodRecord(info, parameters=parameters),
        metrics=metrics,
    )


def record_of_texts(texts: Mapping[str, str], key: str, stream: StreamRecord, **about: Any) -> RunRecord:
    """Return a run from texts: its hyper-parameters, its front value as `threshold`, and its seed.

    Texts `stream_NAME` are options of the stream, and those with the names of sizes are its sizes.
    """
    shared = {"algorithm", "threshold", "dataset", "seed", *SIZES}
    values = {name: from_text(text) for name, text in texts.items()}
    parameters = {
        name: value for name, value in values.items() if name not in shared and not name.startswith("stream_")
    }
    info = known_method(texts["algorithm"], None, [name for name, value in parameters.items() if value is not None])
    if texts["threshold"] and parameters.get(info.parameter) is None:
        info = info if info.parameter else known_method(texts["algorithm"], None, ["threshold"])
        parameters[info.parameter] = values["threshold"]
    options = {name.removeprefix("stream_"): value for name, value in values.items() if name.startswith("stream_")}
    sizes = {name: int(texts[name]) for name in SIZES if name in texts}
    return RunRecord(
        key=key,
        seed=int(texts["seed"]),
        stream=replace(stream, options=options, sizes=sizes),
        method=MethodRecord(info, parameters=parameters),
        **about,
    )


def from_text(text: str) -> Any:
    """Return a value from its text."""
    words = {"None": None, "True": True, "False": False}
    if text in words:
        return words[text]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
