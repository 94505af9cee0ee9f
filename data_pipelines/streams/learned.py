"""Features learned from users who do not play: factors of items, and profiles of pairs of a player and an item.

One half of the users plays. The other half is held out: their interactions make the features, and they never act.
Features made from the players themselves would reveal their own choices.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from data_pipelines.prepare.prepared import Prepared, fingerprint_of, rounded
from data_pipelines.support.files import write_whole
from data_pipelines.tag_events import half_of_users

LearnedFeatures = Literal["factors", "profile"]
FACTORS: dict[str, int] = {"factors": 24, "profile": 23}
"""The number of factors; with a constant, and for profiles also the popularity, features have 25 dimensions."""

MIN_HELD_OUT_USERS = 5
"""Items with fewer held-out users (raters, where there are ratings) are left out."""

MIN_KEPT_SHARE = 0.25
"""At least this share of the players' interactions must be with items that are kept."""

FACTORS_VERSION = 1


@dataclass(frozen=True)
class HeldOut:
    """What held-out users tell about the items that enough of them interacted with.

    Args:
        items: the kept items, rows of the prepared data set.
        factors: (I, k), of unit norm, or zero.
        count: the held-out users of each item.
        likes: the held-out users who rated it as a positive; None if there are no ratings.
    """

    items: NDArray[np.int64]
    factors: NDArray[np.float64]
    count: NDArray[np.int64]
    likes: NDArray[np.int64] | None

    @property
    def item_features(self) -> NDArray[np.float64]:
        """x = (q/√2, 1/√2)."""
        constant = np.ones((len(self.factors), 1))
        return rounded(np.hstack([self.factors, constant]) / np.sqrt(2.0))

    def pair_features(self, profiles: NDArray[np.float64], items: NDArray[np.int64]) -> NDArray[np.float64]:
        """x = (2·p∘q, 1/√2, log(1+n) / (√2·max log(1+n))) / √5 of each pair of a profile p and a kept item."""
        popularity = np.log1p(self.count) / np.log1p(self.count.max())
        k = self.factors.shape[1]
        features = np.empty((len(items), k + 2))
        features[:, :k] = 2.0 * profiles * self.factors[items]
        features[:, k] = 1.0 / np.sqrt(2.0)
        features[:, k + 1] = popularity[items] / np.sqrt(2.0)
        return rounded(features / np.sqrt(5.0))


def learn_from_held_out(prepared: Prepared, features: LearnedFeatures) -> HeldOut:
    """Return what the held-out users of a data set tell about its items; factors are computed once and cached."""
    is_held_out = ~half_of_users(prepared.users)
    users, items = prepared.users[is_held_out], prepared.items[is_held_out].astype(np.int64)
    likes = _liked(prepared)
    is_liked = np.ones(len(users), dtype=bool) if likes is None else likes[is_held_out]
    count = _distinct_users(users, items, len(prepared.item_ids))
    kept = np.flatnonzero(count >= MIN_HELD_OUT_USERS)
    share = float(np.isin(prepared.items[~is_held_out], kept).mean())
    if len(kept) <= FACTORS[features] or share < MIN_KEPT_SHARE:
        raise ValueError(
            f"features = {features!r} needs items that at least {MIN_HELD_OUT_USERS} of the users who do not play "
            f"interacted with; in {prepared.name} only {share:.0%} of the players' interactions are with such items, "
            f"expected {MIN_KEPT_SHARE:.0%}"
        )
    liked_count = None if likes is None else _distinct_users(users[is_liked], items[is_liked], len(count))[kept]
    inputs = {
        "prepared": prepared.manifest["fingerprint"],
        "arrays": prepared.manifest["arrays"],
        "k": FACTORS[features],
        "version": FACTORS_VERSION,
    }
    shape = (len(kept), FACTORS[features])
    cache = None if prepared.folder is None else prepared.folder / f"factors-{fingerprint_of(inputs)[:16]}.bin"
    factors = _read_cache(cache, shape)
    if factors is None:
        factors = _factors(users[is_liked], items[is_liked], np.unique(users), kept, FACTORS[features])
        _write_cache(cache, factors)
    return HeldOut(kept, factors, count[kept], liked_count)


def _liked(prepared: Prepared) -> NDArray[np.bool_] | None:
    least = prepared.manifest.get("positive_rating")
    return None if prepared.ratings is None or least is None else prepared.ratings >= least


def _distinct_users(users: NDArray[np.int64], items: NDArray[np.int64], item_count: int) -> NDArray[np.int64]:
    """Return the number of distinct users of each item."""
    return np.bincount(np.unique(np.stack([users, items]), axis=1)[1], minlength=item_count)


def _factors(
    users: NDArray[np.int64],
    items: NDArray[np.int64],
    held_out_users: NDArray[np.int64],
    kept: NDArray[np.int64],
    k: int,
) -> NDArray[np.float64]:
    """Return V·S of the largest k singular values of the matrix users × kept items, with rows of unit norm.

    ARPACK in one thread with a fixed start gives the same bytes on every processor after rounding; the largest entry
    of each right vector is positive.
    """
    from scipy.sparse import csr_matrix
    from scipy.sparse.linalg import svds
    from threadpoolctl import threadpool_limits

    is_kept = np.isin(items, kept)
    pairs = np.unique(np.stack([users[is_kept], items[is_kept]]), axis=1)
    rows, columns = np.searchsorted(held_out_users, pairs[0]), np.searchsorted(kept, pairs[1])
    shape = (len(held_out_users), len(kept))
    matrix = csr_matrix((np.ones(len(rows)), (rows, columns)), shape=shape)
    smaller = min(shape)
    with threadpool_limits(1):
        _, values, vectors = svds(matrix, k, solver="arpack", tol=0, v0=np.ones(smaller) / np.sqrt(smaller))
    order = np.argsort(-values)
    right = vectors[order].T
    largest = np.abs(right).argmax(axis=0)
    right = right * np.sign(right[largest, np.arange(k)])
    return unit_rows(right * values[order])


def unit_rows(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rows at unit norm; zero rows stay zero."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(norms > 0, norms, 1.0)


DIGEST_BYTES = 32


def _read_cache(path: Path | None, shape: tuple[int, int]) -> NDArray[np.float64] | None:
    """Return cached factors; None if there are none, or the file is damaged."""
    try:
        content = b"" if path is None else path.read_bytes()
    except OSError:
        return None
    array, digest = content[:-DIGEST_BYTES], content[-DIGEST_BYTES:]
    if len(array) != 8 * shape[0] * shape[1] or hashlib.sha256(array).digest() != digest:
        return None
    return np.frombuffer(array).reshape(shape)


def _write_cache(path: Path | None, factors: NDArray[np.float64]) -> None:
    """Write factors with their hash; in a folder that cannot be written, they are computed again."""
    array = np.ascontiguousarray(factors).tobytes()
    try:
        if path is not None and path.parent.is_dir():
            write_whole(path, array + hashlib.sha256(array).digest())
    except OSError:
        pass
