"""Where users lie: each one's mean positive feature vector, reduced to two principal components (appendix H)."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from data_pipelines.features import scale
from data_pipelines.prepared import Prepared
from reports.group_totals import group_of_each, groups_of


@dataclass(frozen=True)
class Embedding:
    """`users` has one row for each user: x, y, interactions, group (its number) and label (its interval).

    No identifiers: the data sets' licences do not allow handing users on. `explained` are the shares of the variance.
    """

    users: pd.DataFrame
    explained: tuple[float, float]
    dimension: int


def embed_users(prepared: Prepared) -> Embedding:
    """Average the features of each user's items, then keep the two directions in which users differ most."""
    scaling = str(prepared.manifest["stream_defaults"]["scaling"])
    means, activity = mean_features(prepared, scale(prepared.components, scaling))
    centred = means - means.mean(axis=0)
    _, values, directions = np.linalg.svd(centred, full_matrices=False)
    # The sign of a direction is arbitrary: let its largest part be positive, so that every machine draws the same.
    largest = np.abs(directions).argmax(axis=1)
    directions = directions * np.sign(directions[np.arange(len(directions)), largest])[:, None]
    places = np.zeros((len(means), 2))
    kept = min(2, len(values))
    places[:, :kept] = centred @ directions[:kept].T
    variances = np.zeros(2)
    variances[:kept] = values[:kept] ** 2 / max(float((values**2).sum()), 1e-300)
    groups = groups_of(prepared)
    numbers = group_of_each(activity, groups)
    users = pd.DataFrame(
        {
            "x": places[:, 0],
            "y": places[:, 1],
            "interactions": activity,
            "group": numbers,
            "label": [groups[number].label for number in numbers],
        }
    )
    return Embedding(users, (float(variances[0]), float(variances[1])), means.shape[1])


def mean_features(prepared: Prepared, features: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the mean feature vector of each user's items, and how many there are: one sparse product."""
    from scipy.sparse import csr_array

    _, rows, counts = np.unique(prepared.users, return_inverse=True, return_counts=True)
    shape = (len(counts), len(features))
    touched = csr_array((np.ones(len(rows)), (rows, prepared.items)), shape=shape)
    return (touched @ features) / counts[:, None], counts
