"""Descriptions of items: by words, by the users who took them (co-occurrence), or by their identity (one-hot)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from data_pipelines.own_data.table import Column
from data_pipelines.own_data.values import is_blank
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

    counts = csr_array((np.ones(len(items), dtype=np.int64), (items, users)), shape=(item_count, len(labels)))
    counts.data[:] = 1
    return WordCounts(counts, labels)


def one_hot_words(item_ids: Sequence[str]) -> WordCounts:
    """Return each item's id as its only word; at most `MAX_DIMENSION` items can have a dimension each."""
    from scipy.sparse import eye_array

    if len(item_ids) > MAX_DIMENSION:
        raise ValueError(
            f"--features one-hot must be used with at most {MAX_DIMENSION:,} items, got {len(item_ids):,}; "
            "use --features co-occurrence"
        )
    return WordCounts(eye_array(len(item_ids), dtype=np.int64, format="csr"), item_ids)


def frequent_text(column: Column, rows: NDArray[np.int64], items: NDArray[np.int64], item_count: int) -> list[str]:
    """Return for each item its most frequent non-empty text; of equally frequent ones, the alphabetically first.

    Row `rows[n]` of the column is about item `items[n]`; an item without a text gets an empty one.
    """
    import pandas

    codes = column.codes[rows]
    is_filled = ~is_blank(column.values)[codes]
    pairs = pandas.DataFrame({"item": items[is_filled], "code": codes[is_filled]}).value_counts().reset_index()
    texts = pairs.assign(text=column.values.take(pairs["code"].to_numpy()).to_pylist())
    best = texts.sort_values(["count", "text"], ascending=[False, True]).drop_duplicates("item")
    return best.set_index("item")["text"].reindex(range(item_count), fill_value="").tolist()
