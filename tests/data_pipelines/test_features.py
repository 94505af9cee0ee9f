import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import TfidfTransformer

from data_pipelines.prepare.features import (
    WordCounts,
    count_words,
    principal_components,
    scale,
    split_into_words,
    tf_idf,
    whole_tag,
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


def test_components_are_equal_to_scikit_learns_up_to_sign():
    words = corpus(seed=1)
    components = principal_components(tf_idf(words), 10)
    expected = PCA(10, svd_solver="full").fit_transform(tf_idf(words).toarray())
    signs = np.sign((components * expected).sum(axis=0))
    np.testing.assert_allclose(components, expected * signs, atol=1e-6, rtol=0)


@pytest.mark.parametrize("shape", [(300, 120), (40, 30)])
def test_reordered_rows_give_reordered_components(shape: tuple[int, int]):
    words = corpus(*shape)
    order = np.random.default_rng(2).permutation(shape[0])
    reordered = WordCounts(words.counts[order], words.vocabulary)
    expected = principal_components(tf_idf(words), 20)[order]
    np.testing.assert_allclose(principal_components(tf_idf(reordered), 20), expected, atol=1e-9, rtol=0)


def test_components_are_bitwise_reproducible():
    first, second = (principal_components(tf_idf(corpus()), 25) for _ in range(2))
    assert first.tobytes() == second.tobytes()


def test_the_large_matrix_is_never_made_dense(monkeypatch):
    matrix = tf_idf(corpus())
    monkeypatch.setattr(type(matrix), "toarray", lambda self: pytest.fail("made dense"))
    monkeypatch.setattr(type(matrix), "todense", lambda self: pytest.fail("made dense"))
    assert principal_components(matrix, 25).shape == (300, 25)


def test_an_item_without_words_keeps_the_vector_of_its_empty_document():
    words = corpus()
    components = principal_components(tf_idf(words), 25)
    assert np.abs(components[0]).max() > 1e-3
    np.testing.assert_array_equal(components[0], components[4])


@pytest.mark.parametrize("shape", [(300, 120), (40, 30), (1, 30), (40, 1), (1, 1)])
def test_items_that_all_have_the_same_words_have_no_components(shape: tuple[int, int]):
    np.testing.assert_array_equal(principal_components(csr_array(np.ones(shape)), 25), np.zeros((shape[0], 25)))


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


def test_a_movie_tag_stays_one_word():
    assert whole_tag("  Based on  a Book ") == ["based on a book"]
    assert whole_tag("  ") == []


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


def test_words_in_too_few_rows_are_dropped_regardless_of_their_weight():
    items, tags = np.array([0, 1, 2, 0]), np.array([0, 0, 0, 1])
    words = count_words(
        items,
        tags,
        times_used=np.array([1, 1, 1, 99]),
        item_count=3,
        words_of_tags=[["often"], ["rarely"]],
        min_uses=3,
    )
    assert words.vocabulary == ["often"]
