"""From stored runs to the table that every report is made from."""

import math
from collections import defaultdict
from collections.abc import Sequence

import pandas as pd

from benchmark.tags import KEY
from reports.experiment_files import effects_of
from reports.stored_runs import StoredRun

SIZES = ("steps", "clients", "arms", "dimension")
METRICS = (
    "reward",
    "normalised_reward",
    "regret",
    "uploads",
    "downloads",
    "communication",
    "scalars_moved",
    "am_unsettled",
    "microseconds_per_step",
)
SETTING = ("experiment", "dataset", "source", "algorithm", "variant", "threshold", "global_dim")
"""What seeds are averaged over: runs that differ in their seed alone share it."""

COLUMNS = (
    "run_id",
    "experiment",
    "key",
    "algorithm",
    "variant",
    "threshold",
    "dataset",
    "source",
    "seed",
    "global_dim",
    *SIZES,
    *METRICS,
    "fingerprint",
    "artifact_uri",
)
SHOWN_ELSEWHERE = {
    "algorithm",
    "dataset",
    "seed",
    "gamma",
    "threshold",
    "global_dim",
    "stream_global_dim",
    "stream_client_distribution",
}
"""Parameters with a column of their own, or told by the name of the stream."""


def as_runs(stored: Sequence[StoredRun]) -> pd.DataFrame:
    """Return one row for each finished run, in the order in which they ended."""
    variants = _variants(stored)
    rows = []
    for run in stored:
        parameters = run.parameters
        row: dict[str, object] = {
            "run_id": run.run_id,
            "experiment": run.experiment,
            "key": run.tags.get(KEY, run.run_id),
            "algorithm": parameters.get("algorithm", ""),
            "variant": variants[run.run_id],
            "threshold": number(parameters.get("threshold")),
            "dataset": parameters.get("dataset", ""),
            "source": run.tags.get("fedbandit.source", ""),
            "seed": int(number(parameters.get("seed"), 0)),
            "global_dim": number(parameters.get("global_dim")),
            **{name: int(number(parameters.get(name), 0)) for name in SIZES},
            **{name: run.metrics.get(name, math.nan) for name in METRICS},
            "fingerprint": run.tags.get("fedbandit.fingerprint", ""),
            "artifact_uri": run.artifact_uri,
        }
        rows.append(row)
    return pd.DataFrame(rows, columns=[*COLUMNS])


def keep_latest(runs: pd.DataFrame) -> pd.DataFrame:
    """Keep the latest run of each setting and seed: data or engine may have changed since an earlier one."""
    runs = runs.drop_duplicates(["experiment", "key"], keep="last")
    return runs.drop_duplicates([*SETTING, "seed"], keep="last").reset_index(drop=True)


def failures(stored: Sequence[StoredRun], finished: pd.DataFrame) -> pd.DataFrame:
    """Return the runs that failed and were not finished since."""
    done = set(zip(finished["experiment"], finished["key"], strict=True))
    rows = {
        (run.experiment, run.tags.get(KEY, run.run_id)): (
            run.experiment,
            f"{run.name} on {run.parameters.get('dataset', '?')}",
            run.tags.get("fedbandit.error", run.status),
        )
        for run in stored
        if run.kind == "run" and run.status == "FAILED"
    }
    left = [row for place, row in rows.items() if place not in done]
    return pd.DataFrame(left, columns=["experiment", "name", "error"])


def number(text: str | None, otherwise: float = math.nan) -> float:
    """Read a parameter that may be missing, empty, `None` or one value a client."""
    try:
        return float(text or "")
    except ValueError:
        return otherwise


def _variants(stored: Sequence[StoredRun]) -> dict[str, str]:
    """Name what else differs between the runs of an algorithm on a data set of an experiment, its size included."""
    together: dict[tuple[str, ...], list[StoredRun]] = defaultdict(list)
    for run in stored:
        names = (run.parameters.get("algorithm", ""), run.parameters.get("dataset", ""))
        together[(run.experiment, *names, run.tags.get("fedbandit.source", ""))].append(run)
    variants = {}
    for place, runs in together.items():
        # How many clients appear in a simulation differs from seed to seed; of real data it is the data's size.
        values: dict[str, set[str]] = defaultdict(set)
        hidden = SHOWN_ELSEWHERE | ({"clients"} if place[-1] == "simulated" else set())
        parameters = {name for run in runs for name in run.parameters if name not in hidden}
        # A threshold that is no number, such as one a client, has no place on an axis: it names a variant.
        parameters |= {"threshold"} if any(_is_text(run.parameters.get("threshold")) for run in runs) else set()
        for run in runs:
            for name in parameters:
                values[name].add(_value(run, name))
        effects = effects_of(place[0])  # what a study is about is told even if all runs so far have the same of it
        differing = sorted(
            name for name, found in values.items() if len(found) > 1 or name.removeprefix("stream_") in effects
        )
        for run in runs:
            shown = [(name.removeprefix("stream_"), _value(run, name)) for name in differing]
            variants[run.run_id] = ", ".join(f"{name}={value}" for name, value in shown if value)
    return variants


def _value(run: StoredRun, name: str) -> str:
    """Return a parameter; γ_U and γ_D are told only where they are not simply γ."""
    value = run.parameters.get(name, "")
    is_gamma = name in ("gamma_upload", "gamma_download") and value == run.parameters.get("gamma")
    return "" if is_gamma else value


def _is_text(threshold: str | None) -> bool:
    return bool(threshold) and math.isnan(number(threshold))
