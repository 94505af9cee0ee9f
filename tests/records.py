"""The builder of records for tests: every made-up run is a `RunRecord`."""

import hashlib
import math
from collections.abc import Mapping
from typing import Any

from algorithms.registry import known_method
from benchmark.metrics import metric_names
from benchmark.records.record import SIZES, MethodRecord, RunRecord, StreamRecord
from benchmark.records.tags import FINGERPRINT, KEY, KIND, PREPARED, SOURCE
from benchmark.statistics.budgets import full_transfer

DEFAULTS = {"steps": 100, "clients": 10, "arms": 25, "dimension": 25}


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


def as_version_0_1_0(record: RunRecord) -> tuple[dict[str, str], dict[str, str]]:
    """Return the parameters and tags of a record as version 0.1.0 wrote them."""
    texts, _ = record.to_mlflow()
    tags = {KIND: "run", KEY: record.key, SOURCE: record.stream.source, FINGERPRINT: record.stream.fingerprint}
    return texts, tags | ({PREPARED: record.stream.prepared} if record.stream.prepared else {})
