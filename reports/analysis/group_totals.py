"""Uploads and reward of each activity group, in every run of the study of user groups."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from data_pipelines.activity_groups import ActivityGroup, group_users
from data_pipelines.prepare.prepared import Prepared
from reports.read.context import Context, made_from
from reports.read.results import Results

EXPERIMENT = "user_groups"
MIN_USERS = 10
"""Groups and an embedding of fewer users show single users, not a pattern."""

COLUMNS = ("run_id", "dataset", "stream", "source", "algorithm", "family", "variant", "threshold", "seed")


def group_totals(results: Results, context: Context, stream: str) -> pd.DataFrame:
    """Return uploads and reward per run of the study on a stream and per group; for the columns see `totals_of`."""
    runs = results.runs[(results.runs["experiment"] == EXPERIMENT) & (results.runs["stream"] == stream)]
    return totals_of(runs, EXPERIMENT, stream, results, context)


def totals_of(runs: pd.DataFrame, experiment: str, stream: str, results: Results, context: Context) -> pd.DataFrame:
    """Return uploads and reward per group and per run of an experiment on a stream; they are read once.

    Columns: run_id, dataset, stream, source, algorithm, family, variant, threshold, seed, group (its label), least (its
    least activity), users, interactions, uploads, reward. Empty if the data set or the runs are not available.
    """
    key = (experiment, stream)
    if key not in context.group_totals:
        context.group_totals[key] = _read(runs, next(iter(runs["dataset"]), stream), results, context)
    return context.group_totals[key]


def _read(runs: pd.DataFrame, dataset: str, results: Results, context: Context) -> pd.DataFrame:
    prepared = context.prepared(dataset)
    parts = []
    if prepared is not None:
        groups = groups_of(prepared)
        for run in runs[made_from(runs, prepared.manifest)].itertuples(index=False):
            try:
                clients = results.client_totals(str(run.run_id))
            except (OSError, ValueError) as error:
                context.note_absent(f"{dataset}: clients.parquet of run {run.run_id} cannot be read ({error})")
                continue
            totals = totals_by_group(clients, prepared, groups)
            parts.append(totals.assign(**{name: [getattr(run, name)] * len(totals) for name in COLUMNS}))
    if not parts:
        return pd.DataFrame(columns=[*COLUMNS, "group", "least", "users", "interactions", "uploads", "reward"])
    return pd.concat(parts, ignore_index=True)


def has_few_users(dataset: str, context: Context) -> bool:
    """Return whether a data set has too few users for groups or an embedding; if so, note that they are omitted."""
    prepared = context.prepared(dataset)
    if prepared is None or len(prepared.activity) >= MIN_USERS:
        return False
    context.note_absent(
        f"{dataset}: no activity groups and no figure of its users because it has only {len(prepared.activity)} users "
        f"(at least {MIN_USERS} are needed)"
    )
    return True


def groups_of(prepared: Prepared) -> list[ActivityGroup]:
    """Return the activity groups that have users, in tens or by quantiles, as specified in the data set's manifest."""
    return [group for group in group_users(prepared.activity, prepared.manifest["groups"]) if group.users]


def group_of_each(activity: NDArray[np.int64], groups: Sequence[ActivityGroup]) -> NDArray[np.int64]:
    """Return the number of the group that each activity belongs to."""
    return np.searchsorted([group.least for group in groups], activity, side="right") - 1


def totals_by_group(clients: pd.DataFrame, prepared: Prepared, groups: Sequence[ActivityGroup]) -> pd.DataFrame:
    """Add up the clients of each group."""
    users, activity = np.unique(prepared.users, return_counts=True)
    numbers = group_of_each(activity[np.searchsorted(users, clients["client"].to_numpy())], groups)

    def sums(column: str) -> NDArray[np.float64]:
        weights = clients[column].to_numpy(dtype=float)
        return np.bincount(numbers, weights, minlength=len(groups)).astype(float)

    return pd.DataFrame(
        {
            "group": [group.label for group in groups],
            "least": [group.least for group in groups],
            "users": [group.users for group in groups],
            "interactions": [group.interactions for group in groups],
            "uploads": sums("uploads"),
            "reward": sums("reward"),
        }
    )
