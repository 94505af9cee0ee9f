"""The files of a run, and its curves over time.

`curve.parquet` has every step of a run on a seed that reports. Pictures show about a hundred points of it, MLflow has
about ten.
"""

import io
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

import numpy as np
from numpy.typing import NDArray

from benchmark.metrics import curve_names, curves_of
from benchmark.protocol import load_protocol
from benchmark.records import sqlite
from benchmark.records.tracking import sqlite_file

if TYPE_CHECKING:
    from benchmark.records.store import Store

ARTIFACTS = "mlartifacts"
"""The folder of all files, next to a SQLite file."""

CURVE, CLIENTS = "curve.parquet", "clients.parquet"
FILES = (CURVE, CLIENTS)
"""The files of a finished run on a seed that reports."""

POINTS, POINTS_IN_MLFLOW = 100, 10
"""Points of a curve, at most."""

ATTRIBUTES = {"choice": "choices", "reward": "rewards"}
"""The names in a `Trace` of columns that are called differently in `curve.parquet`."""

Curves = Mapping[str, Sequence[tuple[int, float]]]
"""Points (step, sum up to and including it) of a run's curves, by name."""


def files_of(seed: int) -> tuple[str, ...]:
    """Return the files of a finished run: a seed that only chooses settings needs no curve."""
    return FILES if load_protocol().seeds.purpose(seed) == "report" else (CLIENTS,)


def local_folder(artifact_uri: str) -> Path | None:
    """Return the folder of artifacts on this machine; None if they are kept elsewhere."""
    address = urlsplit(artifact_uri)
    return Path(url2pathname(address.path)) if address.scheme in ("", "file") else None


def local_folders(uri: str, experiment: str, run_id: str, artifact_uri: str) -> list[Path]:
    """Return where the files of a run are on this machine: as recorded, or next to a store that was moved.

    None if they are kept elsewhere.
    """
    recorded, file = local_folder(artifact_uri), sqlite_file(uri)
    if recorded is None:
        return []
    return [recorded, *([file.parent / ARTIFACTS / experiment / run_id / "artifacts"] if file else [])]


def curve(per_step: NDArray[Any]) -> list[tuple[int, float]]:
    """Return about 100 points (t, sum up to and including step t) of a per-step series, the last one included."""
    total = np.cumsum(per_step)
    steps = np.unique(np.linspace(1, len(total), min(POINTS, len(total))).round().astype(np.int64))
    return [(int(t), float(total[t - 1])) for t in steps]


def thinned(points: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    """Return about ten of the points of a curve, both ends included."""
    count = min(POINTS_IN_MLFLOW, len(points))
    return [points[index] for index in np.linspace(0, len(points) - 1, count).round().astype(int)]


def curves_in(content: bytes, source: str) -> Curves:
    """Return the curves of a run from its `curve.parquet`, for a stream of this source; ValueError if it has none."""
    import pyarrow.parquet as pq

    table = pq.read_table(io.BytesIO(content), use_threads=False, page_checksum_verification=True)
    columns = {ATTRIBUTES.get(name, name): table.column(name).to_numpy() for name in table.column_names}
    try:
        trace: Any = SimpleNamespace(**columns)
        return {name: curve(per_step) for name, per_step in curves_of(trace, source).items()}
    except AttributeError as error:
        raise ValueError(f"{CURVE} has too few columns: {error}") from None


def read_curves(store: "Store", source: str, experiment: str, run_id: str, artifact_uri: str) -> Curves:
    """Return the curves of a stored run: from its file, or without one the points that MLflow has.

    `source` is that of its stream.
    """
    content = content_of(store, experiment, run_id, artifact_uri)  # a server that fails is no reason to show less
    try:
        return curves_in(content, source)
    except (OSError, ValueError):
        return _points_in_mlflow(store, run_id)


def read_choices(store: "Store", experiment: str, run_id: str, artifact_uri: str) -> NDArray[Any] | None:
    """Return the position of the chosen arm at each step of a stored run; None if it has no such file."""
    import pyarrow.parquet as pq

    content = io.BytesIO(content_of(store, experiment, run_id, artifact_uri))
    try:
        table = pq.read_table(content, columns=["choice"], use_threads=False, page_checksum_verification=True)
        choices: NDArray[Any] = table.column(0).to_numpy()
    except (OSError, ValueError, IndexError):
        return None
    return choices


def read_client_totals(store: "Store", experiment: str, run_id: str, artifact_uri: str) -> bytes:
    """Return the file with the totals per client of a stored run; empty if there is none."""
    return content_of(store, experiment, run_id, artifact_uri, CLIENTS)


def content_of(store: "Store", experiment: str, run_id: str, artifact_uri: str, name: str = CURVE) -> bytes:
    """Return the content of a file of a run, by default of `curve.parquet`; empty if there is no such file."""
    folders = local_folders(store.uri, experiment, run_id, artifact_uri)
    with tempfile.TemporaryDirectory() as downloads:
        files = [folder / name for folder in folders]
        if not folders and name in (file.path for file in store.call(store.client.list_artifacts, run_id)):
            files = [Path(store.call(store.client.download_artifacts, run_id, name, downloads))]
        return next((file.read_bytes() for file in files if file.is_file()), b"")


def _points_in_mlflow(store: "Store", run_id: str) -> Curves:
    file = sqlite_file(store.uri)
    if file is not None and sqlite.is_known(file):
        return sqlite.points(file, run_id, curve_names())
    histories = {name: store.call(store.client.get_metric_history, run_id, name) for name in curve_names()}
    curves = {name: sorted((point.step, point.value) for point in points) for name, points in histories.items()}
    return {name: points for name, points in curves.items() if points}
