"""What users of each activity group uploaded and earned, in every run of the study of user groups."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from data_pipelines.activity_groups import Group, group_users
from data_pipelines.prepared import Prepared
from reports.context import Context, made_from
from reports.results import Results

EXPERIMENT = "user_groups"
COLUMNS = ("run_id", "dataset", "source", "algorithm", "variant", "threshold", "seed")


def group_totals(results: Results, context: Context, dataset: str) -> pd.DataFrame:
    """Return, for each run of the study on a data set and each group, its uploads and reward.

    Columns: run_id, dataset, source, algorithm, variant, threshold, seed, group (its label), least (its least
    activity), users, interactions, uploads, reward. Empty where the data set, or the runs, are not at hand.
    """
    if dataset not in context.group_totals:
        context.group_totals[dataset] = _read(results, context, dataset)
    return context.group_totals[dataset]


def _read(results: Results, context: Context, dataset: str) -> pd.DataFrame:
    prepared = context.prepared(dataset)
    runs = results.runs[(results.runs["experiment"] == EXPERIMENT) & (results.runs["dataset"] == dataset)]
    parts = []
    if prepared is not None:
        groups = groups_of(prepared)
        for run in runs[made_from(runs, prepared.manifest)].itertuples(index=False):
            try:
                clients = results.client_totals(str(run.run_id))
            except (OSError, ValueError) as error:
                context.say_absent(f"{dataset}: clients.parquet of run {run.run_id} is not there ({error})")
                continue
            totals = totals_by_group(clients, prepared, groups)
            parts.append(totals.assign(**{name: getattr(run, name) for name in COLUMNS}))
    if not parts:
        return pd.DataFrame(columns=[*COLUMNS, "group", "least", "users", "interactions", "uploads", "reward"])
    return pd.concat(parts, ignore_index=True)


def groups_of(prepared: Prepared) -> list[Group]:
    """Return the activity groups that have users, as the data set's manifest wants them: in tens, or by quantiles."""
    return [group for group in group_users(prepared.activity, prepared.manifest["groups"]) if group.users]


def group_of_each(activity: NDArray[np.int64], groups: Sequence[Group]) -> NDArray[np.int64]:
    """Return the number of the group that each activity belongs to."""
    return np.searchsorted([group.least for group in groups], activity, side="right") - 1


def totals_by_group(clients: pd.DataFrame, prepared: Prepared, groups: Sequence[Group]) -> pd.DataFrame:
    """Add up the clients of each group."""
    users, activity = np.unique(prepared.users, return_counts=True)
    place = group_of_each(activity[np.searchsorted(users, clients["client"].to_numpy())], groups)

    def added_up(column: str) -> NDArray[np.float64]:
        totals = np.zeros(len(groups))
        np.add.at(totals, place, clients[column].to_numpy(dtype=float))
        return totals

    return pd.DataFrame(
        {
            "group": [group.label for group in groups],
            "least": [group.least for group in groups],
            "users": [group.users for group in groups],
            "interactions": [group.interactions for group in groups],
            "uploads": added_up("uploads"),
            "reward": added_up("reward"),
        }
    )
