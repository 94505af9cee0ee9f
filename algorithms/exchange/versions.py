"""Server states that clients still use: reference-counted, and freed when unused."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from algorithms.numerics.jit import compiled
from algorithms.numerics.small_loops import copy

EMPTY = 0
"""The version without data; it is never freed."""


class Versions(NamedTuple):
    """Agreed states {V, b} with the number of `observations`, log det V(λ) and a unique serial number.

    `least_eigenvalue` is a lower bound for the least eigenvalue of V, inherited since V only grows; negative if
    unknown.
    """

    V: NDArray[np.float64]
    b: NDArray[np.float64]
    observations: NDArray[np.int64]
    log_det: NDArray[np.float64]
    least_eigenvalue: NDArray[np.float64]
    serial: NDArray[np.int64]
    references: NDArray[np.int32]
    free: NDArray[np.int32]
    used: NDArray[np.int64]
    """The number of entries ever used, in an array of length 1."""
    free_count: NDArray[np.int64]
    """The number of entries in `free`, in an array of length 1."""
    next_serial: NDArray[np.int64]
    """The serial number of the next version, in an array of length 1."""
    newest: NDArray[np.int64]
    """The newest server state, in an array of length 1."""


def new_versions(capacity: int, dimension: int, ridge: float) -> Versions:
    """Allocate, with the empty version as the server's state."""
    versions = _allocate(capacity, dimension)
    versions.V[EMPTY] = 0.0
    versions.b[EMPTY] = 0.0
    versions.observations[EMPTY] = 0
    versions.log_det[EMPTY] = dimension * np.log(ridge)
    versions.least_eigenvalue[EMPTY] = 0.0
    versions.serial[EMPTY] = 0
    versions.references[EMPTY] = 2  # one reference by the server, and one that is never released
    versions.used[0] = versions.next_serial[0] = 1
    versions.newest[0] = EMPTY
    return versions


def _allocate(capacity: int, dimension: int) -> Versions:
    return Versions(
        V=np.empty((capacity, dimension, dimension)),
        b=np.empty((capacity, dimension)),
        observations=np.empty(capacity, dtype=np.int64),
        log_det=np.empty(capacity),
        least_eigenvalue=np.empty(capacity),
        serial=np.empty(capacity, dtype=np.int64),
        references=np.empty(capacity, dtype=np.int32),
        free=np.empty(capacity, dtype=np.int32),
        used=np.zeros(1, dtype=np.int64),
        free_count=np.zeros(1, dtype=np.int64),
        next_serial=np.zeros(1, dtype=np.int64),
        newest=np.zeros(1, dtype=np.int64),
    )


def with_room(versions: Versions, more: int) -> Versions:
    """Return versions with room for `more` new ones: the same object, or a larger copy."""
    used, free = int(versions.used[0]), int(versions.free_count[0])
    capacity = len(versions.serial)
    if capacity - used + free >= more:
        return versions
    larger = _allocate(max(2 * capacity, used + more), versions.b.shape[1])
    for name in Versions._fields:  # for an array of length 1, `:used` is the whole array
        getattr(larger, name)[:used] = getattr(versions, name)[:used]
    return larger


@compiled
def make_version(versions: Versions, base: int) -> int:
    """Add a copy of `base` with one reference, to be completed by the caller; return its number."""
    if versions.free_count[0] > 0:
        versions.free_count[0] -= 1
        version = np.int64(versions.free[versions.free_count[0]])
    else:
        version = versions.used[0]
        versions.used[0] += 1
    copy(versions.V[version], versions.b[version], versions.V[base], versions.b[base])
    versions.observations[version] = versions.observations[base]
    versions.log_det[version] = versions.log_det[base]
    bound = versions.least_eigenvalue[base]
    versions.least_eigenvalue[version] = bound if bound > 0.0 else -1.0
    versions.serial[version] = versions.next_serial[0]
    versions.next_serial[0] += 1
    versions.references[version] = 1
    return int(version)


@compiled
def release(versions: Versions, version: int) -> None:
    """Drop one reference; the last one frees the version."""
    versions.references[version] -= 1
    if versions.references[version] == 0:
        versions.free[versions.free_count[0]] = version
        versions.free_count[0] += 1
