"""One hash of all inputs of a report (runs, data, code, versions): it says whether outputs can be reused."""

import hashlib
import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmark.plan.experiment import FOLDER as EXPERIMENTS
from reports.read.results import Results

CODE = Path(__file__).parents[1]
ALSO = [
    CODE.parent / name
    for name in ("algorithms/methods", "benchmark/charts", "benchmark/results", "benchmark/statistics")
]
"""Folders that make numbers, pictures and cards of methods of a report."""

KINDS = (".py", ".toml", ".html", ".css", ".js")
PACKAGES = ("fedbandit-bench", "matplotlib", "numpy", "pandas", "plotly", "scipy")


def inputs_hash(results: Results) -> str:
    """Hash all inputs of the tables, figures and page of these results."""
    content = {
        "runs": sorted(zip(results.runs["experiment"], results.runs["key"], results.runs["run_id"], strict=True)),
        "tuning": sorted(zip(results.tuning["key"], results.tuning["run_id"], strict=True)),
        "sweeps": results.sweeps.astype(str).to_numpy().tolist(),
        "failed": results.failed.astype(str).to_numpy().tolist(),
        "left out": results.left_out_sentences(),
        "superseded": results.superseded,
        "boards": {board.experiment: digest(board.document) for board in results.boards},
        "uri": results.uri,
        "experiments": results.scope,
        "own experiments": results.own_experiments,
        "data": {name: manifest["arrays"] for name, manifest in results.manifests.items()},
        "absent": results.absent,
        "code": code_hash(),
    }
    return digest(content)


def code_hash() -> str:
    """Hash the code of the reports and of charts, the experiments, and the versions of the libraries."""
    parts = [*ALSO, *(part for part in CODE.iterdir() if part.name != "output")]  # which can hold thousands of files
    files = [path for part in parts for path in (part, *part.rglob("*")) if path.suffix in KINDS]
    hashes = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in EXPERIMENTS.glob("*.toml")}
    hashes |= {str(path.relative_to(CODE.parent)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
    return digest({"files": hashes, "versions": {name: version(name) for name in PACKAGES}})


def digest(content: Any) -> str:
    """Hash any value that JSON can represent."""
    text = json.dumps(content, sort_keys=True, default=str, allow_nan=True)
    return hashlib.sha256(text.encode()).hexdigest()
