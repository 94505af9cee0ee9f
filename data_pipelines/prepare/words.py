"""From tags to a sparse matrix of how often each word describes each item."""

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

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


def count_words(
    items: NDArray[np.integer[Any]],
    tags: NDArray[np.integer[Any]],
    times_used: NDArray[np.integer[Any]],
    *,
    item_count: int,
    words_of_tags: Sequence[Sequence[str]],
    min_uses: int = 1,
) -> WordCounts:
    """Count the words of each item: item `items[r]` was given tag `tags[r]`, `times_used[r]` times.

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
    uses = csr_array((np.ones(len(items), dtype=np.int64), (items, tags)), shape=shape).sum(axis=0) @ tag_words
    counts = csr_array((times_used.astype(np.int64), (items, tags)), shape=shape) @ tag_words
    word_numbers = np.flatnonzero(uses >= max(min_uses, 1))
    counts = csr_array(counts[:, word_numbers])
    counts.eliminate_zeros()
    counts.sort_indices()
    return WordCounts(counts, [vocabulary[number] for number in word_numbers])
