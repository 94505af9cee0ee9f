"""From a prepared data set and a seed to an `EventStream`: the order of interactions and their pools.

Order and pools depend only on whole numbers and a seeded generator, so they are the same on every machine.
There is no Python loop over interactions.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from data_pipelines.data_label import warn_once
from data_pipelines.data_set import UNKNOWN_TIME
from data_pipelines.event_stream import EventStream
from data_pipelines.prepare.features import SCALINGS, scale
from data_pipelines.prepare.prepared import DEFAULT_ARMS, Prepared, fingerprint_of, open_prepared
from data_pipelines.streams.pools import draw_pools

STREAM_VERSION = 1
POSITIONS = ("anywhere", "first")
MAX_DRAWS = 1 << 22


def load(
    name: str,
    *,
    seed: int,
    arms: int = DEFAULT_ARMS,
    dimension: int | None = None,
    scaling: str | None = None,
    positive: str = "anywhere",
    folder: Path | None = None,
) -> EventStream:
    """Build the stream for one seed from a prepared data set.

    Args:
        name: a data set prepared by `fedbandit data`.
        seed: determines the order and the pools.
        arms: K, the size of a pool: the item of the interaction and K-1 that its user never interacted with.
        dimension: d; `None` for all prepared components.
        scaling: `standard`, `pca` or `unit`; `None` for the data set's own, `standard` for most.
        positive: the position of the interaction's item in its pool: `anywhere`, a random position, or `first`, as
            in the published script; this reveals the positive to an algorithm that prefers earlier arms.
        folder: the data folder, if it is not `data` or `FEDBANDIT_DATA`.

    Data that are generated or differ from those published give an `UnofficialDataWarning`, once in each process.
    """
    stream, manifest = load_with_manifest(
        name, seed=seed, arms=arms, dimension=dimension, scaling=scaling, positive=positive, folder=folder
    )
    warn_once(manifest)
    return stream


def load_with_manifest(
    name: str,
    *,
    seed: int,
    arms: int,
    dimension: int | None,
    scaling: str | None,
    positive: str = "anywhere",
    folder: Path | None = None,
) -> tuple[EventStream, Mapping[str, Any]]:
    """Like `load`, but without the warning about unofficial data, which is left to the caller."""
    if not isinstance(seed, int | np.integer) or isinstance(seed, bool) or seed < 0:
        raise ValueError(f"seed must be an integer from 0, got {seed!r}")
    if scaling is not None and scaling not in SCALINGS:
        raise ValueError(f"scaling must be one of {', '.join(SCALINGS)}, got {scaling!r}")
    if positive not in POSITIONS:
        raise ValueError(f"positive must be one of {', '.join(POSITIONS)}, got {positive!r}")
    prepared = positives_of(open_prepared(name, folder))
    max_dimension = prepared.components.shape[1]
    dimension = max_dimension if dimension is None else dimension
    is_integer = isinstance(dimension, int | np.integer) and not isinstance(dimension, bool)
    if not is_integer or not 1 <= dimension <= max_dimension:
        raise ValueError(
            f"dimension must be an integer from 1 to {max_dimension}, the number of prepared components, "
            f"got {dimension!r} (to prepare more: fedbandit data {name} --dimension D)"
        )
    stream = build_stream(
        prepared,
        seed=int(seed),
        arms=arms,
        dimension=int(dimension),
        scaling=scaling or str(prepared.manifest["stream_defaults"]["scaling"]),
        positive=positive,
    )
    return stream, prepared.manifest


def positives_of(prepared: Prepared) -> Prepared:
    """Return the data set without interactions that are rated below its parameter `positive_from`, if it has one."""
    least = prepared.manifest.get("parameters", {}).get("positive_from")
    if least is None or prepared.ratings is None:
        return prepared
    is_positive = prepared.ratings >= least
    if not is_positive.any():
        raise ValueError(f"{prepared.name} has no interaction rated {least:g} or higher")
    arrays = {key: getattr(prepared, key)[is_positive] for key in ("users", "items", "times", "ratings")}
    return replace(prepared, **arrays)


def build_stream(
    prepared: Prepared, *, seed: int, arms: int, dimension: int, scaling: str, positive: str = "anywhere"
) -> EventStream:
    """Draw order and pools; each pool has one reward of 1, without noise."""
    random = np.random.Generator(np.random.PCG64(seed))
    interactions = draw_order(random, prepared.users, prepared.times)
    _, user_rows = np.unique(prepared.users, return_inverse=True)
    pools, positions = draw_pools(
        random, user_rows, prepared.items, interactions, item_count=len(prepared.item_ids), arms=arms
    )
    if positive == "first":
        rows = np.arange(len(positions))
        pools[rows, positions], pools[:, 0] = pools[:, 0].copy(), pools[rows, positions]
        positions = np.zeros_like(positions)
    rewards = np.zeros(pools.shape)
    rewards[np.arange(len(positions)), positions] = 1.0
    noise = np.zeros(len(positions))
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
    """Return the fingerprint of the stream that `build_stream` returns for these arguments, without building it."""
    inputs = {
        "prepared": manifest["fingerprint"],
        "seed": int(seed),
        "arms": int(arms),
        "dimension": int(dimension),
        "scaling": scaling,
        "version": STREAM_VERSION,
    }
    if positive != "anywhere":
        inputs["positive"] = positive
    return fingerprint_of(inputs)


def draw_order(random: np.random.Generator, users: NDArray[np.int64], times: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the interactions in stream order.

    Each step draws a user uniformly among those with remaining interactions; each user's interactions are in
    order of time, those of unknown time at random positions between them.
    """
    _, user_rows, counts = np.unique(users, return_inverse=True, return_counts=True)
    order_by_user = _order_within_users(random, user_rows, times)
    turns = _draw_turns(random, counts)
    order = np.empty(len(users), dtype=np.int64)
    # A user's first turn gets the user's first interaction, and so on.
    order[np.argsort(turns, kind="stable")] = order_by_user
    return order


def _order_within_users(
    random: np.random.Generator, user_rows: NDArray[np.int64], times: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Shuffle each user's interactions, then sort those of known time among themselves."""
    shuffle = random.permutation(len(user_rows))
    order = np.lexsort((shuffle, user_rows))
    is_known = times != UNKNOWN_TIME
    by_time = np.lexsort((shuffle, times, user_rows))
    order[is_known[order]] = by_time[is_known[by_time]]
    return order


def _draw_turns(random: np.random.Generator, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Draw a user uniformly among those with remaining interactions, until there are none.

    Users are drawn in blocks, and draws of users who have no interactions left by then are discarded: the
    other draws are uniform among the remaining users.
    """
    remaining = counts.copy()
    turns: list[NDArray[np.int64]] = [np.empty(0, dtype=np.int64)]
    while (total := int(remaining.sum())) > 0:
        users = np.flatnonzero(remaining)
        draws = random.integers(len(users), size=min(total + 16, MAX_DRAWS))
        turn = draws[_occurrence(draws) < remaining[users][draws]]
        turns.append(users[turn])
        remaining[users] -= np.bincount(turn, minlength=len(users))
    return np.concatenate(turns)


def _occurrence(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each value the number of equal values before it."""
    order = np.argsort(values, kind="stable")
    sorted_values = values[order]
    occurrence = np.empty_like(values)
    occurrence[order] = np.arange(len(values)) - np.searchsorted(sorted_values, sorted_values)
    return occurrence
