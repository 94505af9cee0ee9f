"""Feature vectors of items: TF-IDF of their words, then the first principal components.

The matrix stays sparse to the end: the mean is taken off inside the matrix products of the singular
value decomposition, never from the matrix itself, which would fill it up.
"""

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from data_pipelines.words import WordCounts

Scaling = Literal["standard", "pca", "unit"]
SCALINGS: tuple[str, ...] = get_args(Scaling)

SMALL = 64
"""Up to this many items or words a plain decomposition is exact and cheap, and Lanczos has no room."""

NEGLIGIBLE = 1e-7
"""A singular value below this share of the matrix's norm is rounding (Lanczos works on the square), so that
its component is zero: scaled to unit variance it would be noise."""


def tf_idf(words: WordCounts) -> Any:
    """Weigh words as scikit-learn does by default: smoothed idf, rows of Euclidean norm 1."""
    from sklearn.feature_extraction.text import TfidfTransformer

    if words.counts.nnz == 0:
        return words.counts.astype(np.float64)
    return TfidfTransformer().fit_transform(words.counts.astype(np.float64))


def principal_components(matrix: Any, dimension: int) -> NDArray[np.float64]:
    """Return each row's first `dimension` principal components; those that do not exist are zero.

    Signs are fixed by making the largest loading of each component positive.
    """
    from threadpoolctl import threadpool_limits

    rows, columns = matrix.shape
    components = np.zeros((rows, dimension))
    if min(rows, columns) < 1 or matrix.nnz == 0:
        return components
    # The order in which threads add up would show in the last bits.
    with threadpool_limits(limits=1):
        values, loadings = _decompose(matrix, min(dimension, rows, columns))
        order = np.argsort(-values, kind="stable")
        values, loadings = values[order], loadings[order]
        kept = values > NEGLIGIBLE * np.linalg.norm(matrix.data)
        loadings = loadings[kept]
        largest = np.argmax(np.abs(loadings), axis=1)
        loadings *= np.sign(loadings[np.arange(len(loadings)), largest])[:, None]
        mean = np.asarray(matrix.mean(axis=0)).ravel()
        components[:, : len(loadings)] = matrix @ loadings.T - mean @ loadings.T
    return components


def _decompose(matrix: Any, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the first singular values and right singular vectors of the centred matrix."""
    mean = np.asarray(matrix.mean(axis=0)).ravel()
    if min(matrix.shape) <= max(SMALL, 2 * count):
        _, values, loadings = np.linalg.svd(matrix.toarray() - mean, full_matrices=False)
        return values[:count], loadings[:count]
    from scipy.sparse.linalg import LinearOperator, svds

    transposed = matrix.T.tocsr()
    centred = LinearOperator(
        shape=matrix.shape,
        dtype=np.float64,
        matvec=lambda vector: matrix @ vector.ravel() - mean @ vector.ravel(),
        rmatvec=lambda vector: transposed @ vector.ravel() - mean * vector.sum(),
    )
    start = np.random.Generator(np.random.PCG64(0)).standard_normal(min(matrix.shape))
    _, values, loadings = svds(centred, k=count, v0=start, tol=0, return_singular_vectors="vh")
    return values, loadings


def scale(components: NDArray[np.float64], scaling: str) -> NDArray[np.float64]:
    """Scale principal components.

    `standard`: each component to unit variance. `pca`: as they are. `unit`: each item to norm 1.
    """
    if scaling == "pca":
        return components
    if scaling == "standard":
        deviations = components.std(axis=0)
        return components / np.where(deviations > 0, deviations, 1.0)
    if scaling == "unit":
        norms = np.sqrt((components * components).sum(axis=1, keepdims=True))
        return components / np.where(norms > 0, norms, 1.0)
    raise ValueError(f"scaling is {scaling!r}; allowed are {', '.join(SCALINGS)}")
