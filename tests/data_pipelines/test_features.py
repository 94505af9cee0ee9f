import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import TfidfTransformer

from data_pipelines.prepare.features import (
    WordCounts,
    count_words,
    principal_components,
    scale,
    split_into_words,
    tf_idf,
)


def corpus(items: int = 300, words: int = 120, seed: int = 0) -> WordCounts:
    random = np.random.default_rng(seed)
    popularity = 3.0 / np.arange(1, words + 1)
    counts = random.poisson(popularity * random.gamma(1.0, size=(items, 1)), size=(items, words))
    counts[:5] = 0
    return WordCounts(csr_array(counts.astype(np.int64)), [f"w{n}" for n in range(words)])


def dense_components(words: WordCounts, dimension: int) -> np.ndarray:
    """Compute the components by dense algebra: TF-IDF with scikit-learn's defaults, then PCA of the full matrix."""
    dense = TfidfTransformer().fit_transform(words.counts.toarray()).toarray()
    centred = dense - dense.mean(axis=0)
    _, _, loadings = np.linalg.svd(centred, full_matrices=False)
    loadings = loadings[:dimension]
    largest = np.abs(loadings).argmax(axis=1)
    return centred @ (loadings * np.sign(loadings[np.arange(dimension), largest])[:, None]).T


def test_components_are_equal_to_dense_pca_with_fixed_signs():
    words = corpus()
    np.testing.assert_allclose(principal_components(tf_idf(words), 25), dense_components(words, 25), atol=1e-6, rtol=0)


def test_an_item_without_words_keeps_the_vector_of_its_empty_document():
    words = corpus()
    components = principal_components(tf_idf(words), 25)
    assert np.abs(components[0]).max() > 1e-3
    np.testing.assert_array_equal(components[0], components[4])


@pytest.mark.parametrize("scaling", ["standard", "pca", "unit"])
def test_components_beyond_the_rank_are_zero_instead_of_noise(scaling: str):
    words = corpus(items=200, words=80)
    counts = words.counts.toarray()
    counts[:, 4:] = 0  # four words: at most four components
    components = principal_components(tf_idf(WordCounts(csr_array(counts), words.vocabulary)), 25)
    scaled = scale(components, scaling)
    assert np.abs(scaled[:, :3]).max() > 0.1
    np.testing.assert_array_equal(scaled[:, 4:], 0.0)


def test_each_scaling_has_its_defining_property():
    components = principal_components(tf_idf(corpus()), 25)
    np.testing.assert_allclose(scale(components, "standard").std(axis=0), 1.0)
    np.testing.assert_array_equal(scale(components, "pca"), components)
    np.testing.assert_allclose(np.linalg.norm(scale(components, "unit"), axis=1), 1.0)
    with pytest.raises(ValueError, match="scaling must be one of standard, pca, unit, got 'whitened'"):
        scale(components, "whitened")


def test_tags_are_split_into_words():
    assert split_into_words("Death Metal") == ["death", "metal"]
    assert split_into_words("collection_development/80's-POP") == ["collection", "development", "80's", "pop"]
    assert split_into_words("reader&#039;s (é) ????") == ["reader's", "é"]


def test_the_term_frequency_counts_how_often_a_word_describes_an_item():
    words = count_words(
        np.array([0, 0, 1, 0]),
        np.array([0, 1, 1, 0]),
        times_used=np.array([1, 5, 2, 1]),
        item_count=3,
        words_of_tags=[["death", "metal"], ["metal"]],
    )
    assert words.vocabulary == ["death", "metal"]
    assert words.counts.toarray().tolist() == [[2, 7], [0, 2], [0, 0]]
    assert words.items_without_words == 1
