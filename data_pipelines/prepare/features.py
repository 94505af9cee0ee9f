"""Words of items, and their feature vectors: TF-IDF of the words, then the first principal components.

The matrix stays sparse: scikit-learn's PCA subtracts the mean inside the matrix products of the singular value
decomposition, never from the matrix itself, which would make it dense.
"""

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

# Letters and digits of any script, with apostrophes inside (80's); anything else, also `_`, separates words.
WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")


@dataclass(frozen=True)
class WordCounts:
    """`counts[i, w]`: how often word `vocabulary[w]` describes item i. The vocabulary is sorted."""

    counts: Any
    vocabulary: Sequence[str]

    @property
    def items_without_words(self) -> int:
        """The number of items without any word."""
        return int(np.count_nonzero(np.diff(self.counts.indptr) == 0))


def split_into_words(text: str) -> list[str]:
    """Return the words of a tag or title, in lower case."""
    return WORD.findall(html.unescape(text).lower())


def whole_tag(text: str) -> list[str]:
    """Return a tag as one word, in lower case, with spaces normalised; no word if it is empty."""
    tag = " ".join(text.lower().split())
    return [tag] if tag else []


def words_of_items(words: Sequence[Sequence[str]]) -> WordCounts:
    """Count the words of each item, given in the order of the items."""
    rows = np.arange(len(words))
    return count_words(rows, rows, item_count=len(rows), words_of_tags=words)


def count_words(
    items: NDArray[np.integer[Any]],
    tags: NDArray[np.integer[Any]],
    *,
    item_count: int,
    words_of_tags: Sequence[Sequence[str]],
    times_used: NDArray[np.integer[Any]] | None = None,
    min_uses: int = 1,
) -> WordCounts:
    """Count the words of each item: item `items[r]` was given tag `tags[r]`, `times_used[r]` times, by default once.

    A word in fewer than `min_uses` rows is dropped. Rows are counted, not `times_used`, so that archives
    with and without weights keep the same words.
    """
    from scipy.sparse import csr_array

    vocabulary = sorted({word for words in words_of_tags for word in words})
    number_of = {word: number for number, word in enumerate(vocabulary)}
    words = np.array([number_of[word] for words in words_of_tags for word in words], dtype=np.int64)
    owners = np.repeat(np.arange(len(words_of_tags)), [len(words) for words in words_of_tags])
    ones = np.ones(len(words), dtype=np.int64)
    tag_words = csr_array((ones, (owners, words)), shape=(len(words_of_tags), len(vocabulary)))
    shape = (item_count, len(words_of_tags))
    once = np.ones(len(items), dtype=np.int64)
    uses = csr_array((once, (items, tags)), shape=shape).sum(axis=0) @ tag_words
    weights = once if times_used is None else times_used.astype(np.int64)
    counts = csr_array((weights, (items, tags)), shape=shape) @ tag_words
    word_numbers = np.flatnonzero(uses >= max(min_uses, 1))
    counts = csr_array(counts[:, word_numbers])
    counts.eliminate_zeros()
    counts.sort_indices()
    return WordCounts(counts, [vocabulary[number] for number in word_numbers])


Scaling = Literal["standard", "pca", "unit"]
SCALINGS: tuple[str, ...] = get_args(Scaling)

SMALL = 64
"""Up to this many items or words a dense decomposition is exact and cheap, and the matrix too small for Lanczos."""

NEGLIGIBLE = 1e-7
"""A singular value below this share of the matrix's norm is rounding error (Lanczos works on the square).
Its component is set to zero: scaled to unit variance it would be noise."""


def tf_idf(words: WordCounts) -> Any:
    """Weight words with scikit-learn's defaults: smoothed idf, rows of Euclidean norm 1."""
    from sklearn.feature_extraction.text import TfidfTransformer

    if words.counts.nnz == 0:
        return words.counts.astype(np.float64)
    return TfidfTransformer().fit_transform(words.counts.astype(np.float64))


def principal_components(matrix: Any, dimension: int) -> NDArray[np.float64]:
    """Return each row's first `dimension` principal components; components beyond the rank are zero.

    Signs are chosen so that each component's largest loading is positive.
    """
    from sklearn.decomposition import PCA
    from threadpoolctl import threadpool_limits

    rows, columns = matrix.shape
    count = min(dimension, rows, columns)
    components = np.zeros((rows, dimension))
    # Without variance, when all rows are equal, there is nothing to decompose.
    if count < 1 or not (matrix.max(axis=0).toarray() != matrix.min(axis=0).toarray()).any():
        return components
    is_small = min(rows, columns) <= max(SMALL, 2 * count)
    # One thread: the order in which several threads add up would change the last bits.
    with threadpool_limits(limits=1):
        if is_small:
            pca = PCA(count, svd_solver="full").fit(matrix.toarray())
        else:
            pca = PCA(count, svd_solver="arpack", random_state=0).fit(matrix)
        is_kept = pca.singular_values_ > NEGLIGIBLE * np.linalg.norm(matrix.data)
        # Not `fit_transform`: only a product with the matrix gives equal rows equal components, to the last bit.
        components[:, : is_kept.sum()] = pca.transform(matrix)[:, is_kept]
    return components


def truncated_svd(matrix: Any, dimension: int) -> NDArray[np.float64]:
    """Return each row's first `dimension` coordinates of scikit-learn's `TruncatedSVD`: the matrix is not centred.

    Coordinates beyond the rank are zero.
    """
    from sklearn.decomposition import TruncatedSVD
    from threadpoolctl import threadpool_limits

    components = np.zeros((matrix.shape[0], dimension))
    count = min(dimension, *matrix.shape)
    if count < 1 or matrix.nnz == 0:
        return components
    # One thread: the order in which several threads add up would change the last bits.
    with threadpool_limits(limits=1):
        if min(matrix.shape) <= max(SMALL, 2 * count):
            left, values, loadings = np.linalg.svd(matrix.toarray(), full_matrices=False)
            largest = np.argmax(np.abs(loadings), axis=1)
            signs = np.sign(loadings[np.arange(len(loadings)), largest])
            components[:, :count] = (left * (values * signs))[:, :count]
            return components
        components[:, :count] = TruncatedSVD(count, algorithm="arpack", random_state=0, tol=0).fit_transform(matrix)
    return components


def scale(components: NDArray[np.float64], scaling: str) -> NDArray[np.float64]:
    """Scale principal components.

    `standard`: each component to unit variance. `pca`: unchanged. `unit`: each item to norm 1.
    """
    if scaling == "pca":
        return components
    if scaling == "standard":
        deviations = components.std(axis=0)
        return components / np.where(deviations > 0, deviations, 1.0)
    if scaling == "unit":
        norms = np.sqrt((components * components).sum(axis=1, keepdims=True))
        return components / np.where(norms > 0, norms, 1.0)
    raise ValueError(f"scaling must be one of {', '.join(SCALINGS)}, got {scaling!r}")
