"""The users of a data set: totals of their activity groups, and their embedding in two principal components."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from data_pipelines.prepare.features import scale
from data_pipelines.prepare.overview import ActivityGroup, group_users
from data_pipelines.prepare.prepared import Prepared
from reports.read.context import Context
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
        for run in runs[runs["prepared"] == prepared.manifest["fingerprint"]].itertuples(index=False):
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


@dataclass(frozen=True)
class Embedding:
    """`users` has one row per user: x, y, interactions, group (its number) and label (its interval).

    It has no identifiers: the licences of the data sets forbid publishing users. `explained` are the shares of the
    variance.
    """

    users: pd.DataFrame
    explained: tuple[float, float]
    dimension: int


def embed_users(prepared: Prepared) -> Embedding:
    """Average the features of each user's items, and keep the two directions in which users differ most."""
    means, activity = mean_features(prepared, item_features(prepared))
    positions, explained = two_components(means)
    groups = groups_of(prepared)
    numbers = group_of_each(activity, groups)
    users = pd.DataFrame(
        {
            "x": positions[:, 0],
            "y": positions[:, 1],
            "interactions": activity,
            "group": numbers,
            "label": [groups[number].label for number in numbers],
        }
    )
    return Embedding(users, explained, means.shape[1])


def item_features(prepared: Prepared) -> NDArray[np.float64]:
    """Return the features of all items, scaled as in the data set's streams."""
    return scale(prepared.components, str(prepared.manifest["stream_defaults"]["scaling"]))


def two_components(means: NDArray[np.float64]) -> tuple[NDArray[np.float64], tuple[float, float]]:
    """Return the first two principal components of each row, and their shares of the variance."""
    centred = means - means.mean(axis=0)
    values, vectors = np.linalg.eigh(centred.T @ centred)  # ascending; a d×d matrix for any number of users
    directions = vectors.T[::-1][:2]
    # The sign of a direction is arbitrary: make its largest part positive, so that every machine draws the same.
    largest = np.abs(directions).argmax(axis=1)
    directions = directions * np.sign(directions[np.arange(len(directions)), largest])[:, None]
    positions, variances = np.zeros((len(means), 2)), np.zeros(2)
    positions[:, : len(directions)] = centred @ directions.T
    variances[: len(directions)] = values[::-1][:2].clip(min=0) / max(float(values.sum()), 1e-300)
    return positions, (float(variances[0]), float(variances[1]))


def mean_features(prepared: Prepared, features: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the mean feature vector of each user's items, and their number."""
    order, counts = items_by_user(prepared)
    return means_of(prepared.items[order], counts, features), counts


def items_by_user(prepared: Prepared) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the order of interactions that puts those of each user together, and the number of each user's."""
    return np.argsort(prepared.users, kind="stable"), np.unique(prepared.users, return_counts=True)[1]


def means_of(items: NDArray[Any], counts: NDArray[np.int64], features: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean feature vectors of successive items, given how many belong together, by one sparse product."""
    from scipy.sparse import csr_array

    first = np.repeat(np.arange(len(counts)) * len(features), counts)
    ordered = np.sort(first + items) - first  # the items of each user in order: much faster than scipy's sort
    ends = np.concatenate([[0], np.cumsum(counts)])
    matrix = csr_array((np.ones(len(items)), ordered, ends), shape=(len(counts), len(features)))
    matrix.has_sorted_indices = True
    matrix.sum_duplicates()
    return np.asarray(matrix @ features) / counts[:, None]


ASSIGNMENTS = 100
"""Number of random assignments of items to users."""


def distances(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the distance of each user from the centre of the embedding, given the mean features of all users."""
    return np.asarray(np.hypot(*two_components(means)[0].T))


def distances_by_chance(prepared: Prepared) -> NDArray[np.float64]:
    """Return the distance of each user from the centre with items dealt to users at random, their numbers kept.

    There is a row for each of `ASSIGNMENTS` deals. The mean of many items is near the centre for any user, so a
    distance means something only beside these.
    """
    features, random = item_features(prepared), np.random.default_rng(0)
    order, counts = items_by_user(prepared)
    deals = (random.permutation(prepared.items)[order] for _ in range(ASSIGNMENTS))
    return np.array([distances(means_of(deal, counts, features)) for deal in deals])


def by_chance_of(prepared: Prepared, cache: dict[str, Any]) -> NDArray[np.float64]:
    """Return `distances_by_chance`, computed once for each data set of a report."""
    name = str(prepared.manifest["name"])
    if name not in cache:
        cache[name] = distances_by_chance(prepared)
    return np.asarray(cache[name])


def distance_by_group(embedding: Embedding, by_chance: NDArray[np.float64]) -> pd.DataFrame:
    """Return the mean distance from the centre of each activity group, and its 95 % range by chance."""
    users = embedding.users
    rows = []
    for group, members in users.groupby("group").indices.items():
        part = users.iloc[members]
        low, high = np.quantile(by_chance[:, members].mean(axis=1), [0.025, 0.975])
        mean = float(np.hypot(part["x"], part["y"]).mean())
        about = {"group": group, "label": part["label"].iloc[0], "users": len(part)}
        rows.append({**about, "distance": mean, "chance_low": float(low), "chance_high": float(high)})
    return pd.DataFrame(rows)
