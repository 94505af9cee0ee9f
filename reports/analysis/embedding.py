"""The embedding of the users: their mean positive feature vectors, reduced to two principal components (appendix H)."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from data_pipelines.prepare.features import scale
from data_pipelines.prepare.prepared import Prepared
from reports.analysis.group_totals import group_of_each, groups_of


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
    """Return the mean feature vector of each user's items, and their number, by one sparse product."""
    from scipy.sparse import csr_array

    _, rows, counts = np.unique(prepared.users, return_inverse=True, return_counts=True)
    shape = (len(counts), len(features))
    counts_per_item = csr_array((np.ones(len(rows)), (rows, prepared.items)), shape=shape)
    return (counts_per_item @ features) / counts[:, None], counts


ASSIGNMENTS = 100
"""Number of random assignments of items to users."""


def distances(prepared: Prepared, features: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the distance of each user from the centre of the embedding."""
    positions, _ = two_components(mean_features(prepared, features)[0])
    return np.asarray(np.hypot(*positions.T))


def distances_by_chance(prepared: Prepared) -> NDArray[np.float64]:
    """Return the same with items dealt to users at random, their numbers kept: a row for each of `ASSIGNMENTS` deals.

    The mean of many items is near the centre for any user, so a distance means something only beside these.
    """
    features, random = item_features(prepared), np.random.default_rng(0)
    deals = (replace(prepared, items=random.permutation(prepared.items)) for _ in range(ASSIGNMENTS))
    return np.array([distances(deal, features) for deal in deals])


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
