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
from reports.read.results import Results

EXPERIMENT = "user_groups"
MIN_USERS = 10
"""Groups and an embedding of fewer users show single users, not a pattern."""

COLUMNS = ("run_id", "dataset", "stream", "source", "algorithm", "family", "variant", "threshold", "seed")


def group_totals(results: Results, stream: str, runs: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return uploads and reward per group and per run of an experiment on a stream, by default of the study.

    They are read once. Columns: run_id, dataset, stream, source, algorithm, family, variant, threshold, seed, group
    (its label), least (its least activity), users, interactions, uploads, reward. Empty if the data set or the runs are
    not available.
    """
    runs = results.runs_of(EXPERIMENT, stream) if runs is None else runs
    key = (str(next(iter(runs["experiment"]), EXPERIMENT)), stream)
    if key in results.group_totals:
        return results.group_totals[key]
    dataset = next(iter(runs["dataset"]), stream)
    prepared, parts = results.prepared(dataset), []
    if prepared is not None:
        groups = groups_of(prepared)
        for run in runs[runs["prepared"] == prepared.manifest["fingerprint"]].itertuples(index=False):
            try:
                clients = results.client_totals(str(run.run_id))
            except (OSError, ValueError) as error:
                results.note_absent(f"{dataset}: clients.parquet of run {run.run_id} cannot be read ({error})")
                continue
            totals = totals_by_group(clients, prepared, groups)
            parts.append(totals.assign(**{name: [getattr(run, name)] * len(totals) for name in COLUMNS}))
    columns = [*COLUMNS, "group", "least", "users", "interactions", "uploads", "reward"]
    results.group_totals[key] = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns)
    return results.group_totals[key]


def has_few_users(dataset: str, results: Results) -> bool:
    """Return whether a data set has too few users for groups or an embedding; if so, note that they are omitted."""
    prepared = results.prepared(dataset)
    if prepared is None or len(prepared.activity) >= MIN_USERS:
        return False
    results.note_absent(
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
    sums = clients[["uploads", "reward"]].astype(float).groupby(numbers).sum()
    sizes = [(group.label, group.least, group.users, group.interactions) for group in groups]
    totals = pd.DataFrame(sizes, columns=["group", "least", "users", "interactions"])
    return totals.join(sums.reindex(range(len(groups)), fill_value=0.0))


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
    labels = [groups[number].label for number in numbers]
    users = pd.DataFrame(positions, columns=["x", "y"]).assign(interactions=activity, group=numbers, label=labels)
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


def distances_by_chance(prepared: Prepared, results: Results) -> NDArray[np.float64]:
    """Return the distance of each user from the centre with items dealt to users at random, their numbers kept.

    There is a row for each of `ASSIGNMENTS` deals, computed once for each data set of a report. The mean of many items
    is near the centre for any user, so a distance means something only beside these.
    """
    name = str(prepared.manifest["name"])
    if name not in results.by_chance:
        features, random = item_features(prepared), np.random.default_rng(0)
        order, counts = items_by_user(prepared)
        deals = (random.permutation(prepared.items)[order] for _ in range(ASSIGNMENTS))
        results.by_chance[name] = np.array([distances(means_of(deal, counts, features)) for deal in deals])
    return np.asarray(results.by_chance[name])


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
