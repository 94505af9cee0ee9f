"""The embedding of the users: their mean positive feature vectors, reduced to two principal components (appendix H)."""

from dataclasses import dataclass

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
