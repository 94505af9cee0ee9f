"""Descriptions of items: by words, by the users who took them (co-occurrence), or by their identity (one-hot)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from data_pipelines.own_data.table import Column
from data_pipelines.prepare.features import WordCounts
from data_pipelines.prepare.prepared import MAX_DIMENSION


@dataclass(frozen=True)
class FeatureKind:
    """A way of describing items: in a profile, as a remark in a manifest, and how it leaks what is predicted."""

    profile: str
    remark: str = ""
    leak: str = ""


KINDS = {
    "words": FeatureKind("words of the items: TF-IDF, principal components"),
    "co-occurrence": FeatureKind(
        "co-occurrence: TF-IDF over the users' baskets, principal components; made of the same interactions as the "
        "rewards (a leak)",
        "Features are made of co-occurrence: TF-IDF over the users' baskets, reduced to principal components.",
        "Features were made of the same interactions that are predicted: a leak. Rewards are therefore too high, and "
        "do not show what to expect on new interactions. To avoid it, describe the items by words (--items FILE, "
        "--words-column NAME), or use --features one-hot.",
    ),
    "one-hot": FeatureKind(
        "one-hot: one dimension per item",
        "Features are one-hot: each item has its own dimension, so one item reveals nothing about another.",
    ),
}


def words_of_users(
    items: NDArray[np.integer[Any]], users: NDArray[np.integer[Any]], *, item_count: int, labels: Sequence[str]
) -> WordCounts:
    """Return the users of each item as its words, each once; `users` are rows of `labels`."""
    from scipy.sparse import csr_array

    item_rows, user_rows, _ = _distinct_pairs(items, users)
    ones = np.ones(len(item_rows), dtype=np.int64)
    return WordCounts(csr_array((ones, (item_rows, user_rows)), shape=(item_count, len(labels))), labels)


def _distinct_pairs(
    first: NDArray[np.integer[Any]], second: NDArray[np.integer[Any]]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return each pair of numbers once, and how often it occurs."""
    width = int(second.max(initial=0)) + 1
    keys, counts = np.unique(first.astype(np.int64) * width + second, return_counts=True)
    return keys // width, keys % width, counts


def one_hot_words(item_ids: NDArray[Any]) -> WordCounts:
    """Return each item's id as its only word; at most `MAX_DIMENSION` items can have a dimension each."""
    from scipy.sparse import eye_array

    if len(item_ids) > MAX_DIMENSION:
        raise ValueError(
            f"--features one-hot must be used with at most {MAX_DIMENSION:,} items, got {len(item_ids):,}; "
            "use --features co-occurrence"
        )
    return WordCounts(eye_array(len(item_ids), dtype=np.int64, format="csr"), [str(item) for item in item_ids])


def frequent_texts(
    columns: Sequence[Column], rows: NDArray[np.int64], items: NDArray[np.int64], item_count: int
) -> list[str]:
    """Return for each item its most frequent text in each column, joined; row `rows[n]` is about item `items[n]`."""
    parts = [_most_frequent(column, column.codes[rows], items, item_count) for column in columns]
    return [" ".join(texts) for texts in zip(*parts, strict=True)]


def _most_frequent(column: Column, codes: NDArray[np.int32], items: NDArray[np.int64], item_count: int) -> list[str]:
    """Return for each item its most frequent non-empty text; of equally frequent ones, the alphabetically first."""
    is_filled = np.array([bool(value.strip()) for value in column.values], dtype=bool)[codes]
    pairs = _distinct_pairs(items[is_filled], codes[is_filled])
    best: dict[int, tuple[int, str]] = {}
    for item, code, count in zip(*(array.tolist() for array in pairs), strict=True):
        candidate = (-count, column.values[code])
        best[item] = min(best.get(item, candidate), candidate)
    return [best[item][1] if item in best else "" for item in range(item_count)]
