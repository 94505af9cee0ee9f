"""From a prepared data set and a seed to an `EventStream`: the order of interactions and their pools.

Order and pools come from whole numbers and a seeded generator alone, so that every machine makes the
same; nothing loops over interactions in Python.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from data_pipelines.data_set import UNKNOWN_TIME
from data_pipelines.event_stream import EventStream
from data_pipelines.features import SCALINGS, scale
from data_pipelines.pools import draw_pools
from data_pipelines.prepared import DEFAULT_ARMS, Prepared, fingerprint_of, open_prepared

STREAM_VERSION = 1
PLACES = ("anywhere", "first")
MOST_DRAWS = 1 << 22


def load(
    name: str,
    *,
    seed: int,
    arms: int = DEFAULT_ARMS,
    dimension: int | None = None,
    scaling: str = "standard",
    positive: str = "anywhere",
    folder: Path | None = None,
) -> EventStream:
    """Build the stream of one seed from a prepared data set.

    Args:
        name: a data set prepared by `fedbandit data`.
        seed: drives the order and the pools.
        arms: K, the size of a pool: the interaction's item and K-1 that this user never touched.
        dimension: d; `None` for all components that were prepared.
        scaling: `standard`, `pca` or `unit`.
        positive: where in its pool the interaction's item is: `anywhere`, a random place, or `first`, as in the
            published script; an algorithm that prefers earlier arms is then told.
        folder: the data folder, if it is not `data` or `FEDBANDIT_DATA`.
    """
    if not isinstance(seed, int | np.integer) or isinstance(seed, bool) or seed < 0:
        raise ValueError(f"seed is {seed!r}; allowed are integers from 0")
    if scaling not in SCALINGS:
        raise ValueError(f"scaling is {scaling!r}; allowed are {', '.join(SCALINGS)}")
    if positive not in PLACES:
        raise ValueError(f"positive is {positive!r}; allowed are {', '.join(PLACES)}")
    prepared = open_prepared(name, folder)
    most = prepared.components.shape[1]
    dimension = most if dimension is None else dimension
    if not isinstance(dimension, int | np.integer) or isinstance(dimension, bool) or not 1 <= dimension <= most:
        raise ValueError(
            f"dimension is {dimension!r}; allowed are 1 to {most}, the components prepared "
            f"(more of them: fedbandit data {name} --dimension D)"
        )
    return build_stream(
        prepared, seed=int(seed), arms=arms, dimension=int(dimension), scaling=scaling, positive=positive
    )


def build_stream(
    prepared: Prepared, *, seed: int, arms: int, dimension: int, scaling: str, positive: str = "anywhere"
) -> EventStream:
    """Draw order and pools; one reward of 1 a pool, no noise."""
    random = np.random.Generator(np.random.PCG64(seed))
    interactions = draw_order(random, prepared.users, prepared.times)
    _, user_rows = np.unique(prepared.users, return_inverse=True)
    pools, places = draw_pools(
        random, user_rows, prepared.items, interactions, item_count=len(prepared.item_ids), arms=arms
    )
    if positive == "first":
        rows = np.arange(len(places))
        pools[rows, places], pools[:, 0] = pools[:, 0].copy(), pools[rows, places]
        places = np.zeros_like(places)
    rewards = np.zeros(pools.shape)
    rewards[np.arange(len(places)), places] = 1.0
    noise = np.zeros(len(places))
    items = scale(np.ascontiguousarray(prepared.components[:, :dimension]), scaling)
    clients = prepared.users[interactions]
    for array in (items, clients, pools, rewards, noise):
        array.flags.writeable = False
    return EventStream(
        items=items,
        clients=clients,
        pools=pools,
        rewards=rewards,
        noise=noise,
        name=prepared.name,
        fingerprint=stream_fingerprint(
            prepared.manifest, seed=seed, arms=arms, dimension=dimension, scaling=scaling, positive=positive
        ),
        source=str(prepared.manifest["source"]),
    )


def stream_fingerprint(
    manifest: Mapping[str, Any], *, seed: int, arms: int, dimension: int, scaling: str, positive: str = "anywhere"
) -> str:
    """Return the fingerprint of the stream that `build_stream` makes of these arguments, without making it."""
    made_from = {
        "prepared": manifest["fingerprint"],
        "seed": int(seed),
        "arms": int(arms),
        "dimension": int(dimension),
        "scaling": scaling,
        "version": STREAM_VERSION,
    }
    if positive != "anywhere":
        made_from["positive"] = positive
    return fingerprint_of(made_from)


def draw_order(random: np.random.Generator, users: NDArray[np.int64], times: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the interactions in the order of their events.

    A user is drawn uniformly among those with interactions left; each user's interactions go by time,
    those of unknown time at random places between.
    """
    _, user_rows, counts = np.unique(users, return_inverse=True, return_counts=True)
    own_order = _order_within_users(random, user_rows, times)
    turns = _draw_turns(random, counts)
    order = np.empty(len(users), dtype=np.int64)
    # A user's first turn meets the user's first interaction, and so on.
    order[np.argsort(turns, kind="stable")] = own_order
    return order


def _order_within_users(
    random: np.random.Generator, user_rows: NDArray[np.int64], times: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Shuffle each user's interactions, then let those of known time trade places until they go by time."""
    shuffle = random.permutation(len(user_rows))
    order = np.lexsort((shuffle, user_rows))
    known = times != UNKNOWN_TIME
    by_time = np.lexsort((shuffle, times, user_rows))
    order[known[order]] = by_time[known[by_time]]
    return order


def _draw_turns(random: np.random.Generator, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Draw a user uniformly among those with interactions left, until none has.

    Users are drawn in blocks, whether they have something left or not, and draws of those who have not
    are passed over: what remains is uniform among the others.
    """
    left = counts.copy()
    turns: list[NDArray[np.int64]] = [np.empty(0, dtype=np.int64)]
    while (total := int(left.sum())) > 0:
        active = np.flatnonzero(left)
        drawn = random.integers(len(active), size=min(total + 16, MOST_DRAWS))
        turn = drawn[_occurrence(drawn) < left[active][drawn]]
        turns.append(active[turn])
        left[active] -= np.bincount(turn, minlength=len(active))
    return np.concatenate(turns)


def _occurrence(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each value how many equal ones stand before it."""
    order = np.argsort(values, kind="stable")
    in_order = values[order]
    occurrence = np.empty_like(values)
    occurrence[order] = np.arange(len(values)) - np.searchsorted(in_order, in_order)
    return occurrence
