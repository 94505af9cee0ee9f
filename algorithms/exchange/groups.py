"""Groups of clients on the same agreed state: merged by pointer, ordered by when a download is due.

A group is due for a download when the server's log-determinant exceeds its `due` value: log det of the agreed state
plus log γ_D. Groups are kept in a heap ordered by that value, so an upload visits only the groups that are due. A
group that downloads moves to the new version as a whole or is merged into a group that has it (union by size); the
number of downloads is stored at the root and as differences along the path, so each client's count can be computed.
Clients with different γ_D are never in the same group.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from algorithms.numerics.jit import compiled


class Groups(NamedTuple):
    """A forest of groups; all fields except `parent` and `downloads` are valid at roots only."""

    parent: NDArray[np.int32]
    downloads: NDArray[np.int64]
    members: NDArray[np.int32]
    kind: NDArray[np.int32]
    version: NDArray[np.int32]
    log_det: NDArray[np.float64]
    due: NDArray[np.float64]
    is_private: NDArray[np.bool_]
    in_heap: NDArray[np.bool_]
    heap_group: NDArray[np.int32]
    heap_due: NDArray[np.float64]
    made: NDArray[np.int64]
    """The number of groups made so far, in an array of length 1."""
    heap_size: NDArray[np.int64]
    """The number of entries in the heap, in an array of length 1."""


def new_groups(capacity: int) -> Groups:
    """Allocate; memory is used only when groups are made."""
    return Groups(
        parent=np.empty(capacity, dtype=np.int32),
        downloads=np.empty(capacity, dtype=np.int64),
        members=np.empty(capacity, dtype=np.int32),
        kind=np.empty(capacity, dtype=np.int32),
        version=np.empty(capacity, dtype=np.int32),
        log_det=np.empty(capacity),
        due=np.empty(capacity),
        is_private=np.empty(capacity, dtype=np.bool_),
        in_heap=np.empty(capacity, dtype=np.bool_),
        heap_group=np.empty(capacity, dtype=np.int32),
        heap_due=np.empty(capacity),
        made=np.zeros(1, dtype=np.int64),
        heap_size=np.zeros(1, dtype=np.int64),
    )


@compiled
def make_group(groups: Groups, kind: int) -> int:
    """Add an empty group for clients of one class of γ_D; `settle` gives it a state."""
    group = groups.made[0]
    groups.made[0] += 1
    groups.parent[group] = group
    groups.downloads[group] = 0
    groups.members[group] = 0
    groups.kind[group] = kind
    groups.in_heap[group] = False
    return int(group)


@compiled
def settle(groups: Groups, group: int, version: int, log_det: float, log_gamma: float, is_private: bool) -> None:
    """Put a group on an agreed state, and into the heap unless it never downloads.

    An entry already in the heap stays where it is; `next_due` corrects it when it reaches the top.
    """
    groups.version[group] = version
    groups.log_det[group] = log_det
    groups.due[group] = log_det + log_gamma
    groups.is_private[group] = is_private
    if not groups.in_heap[group] and groups.due[group] < np.inf:
        _push(groups, group)


@compiled
def next_due(groups: Groups, bound: float) -> int:
    """Take the next group whose due value is below `bound` out of the heap; -1 if there is none."""
    while groups.heap_size[0] > 0 and groups.heap_due[0] < bound:
        group = groups.heap_group[0]
        _pop(groups)
        groups.in_heap[group] = False
        if groups.members[group] == 0:
            continue
        if groups.due[group] < bound:
            return int(group)
        _push(groups, group)
    return -1


@compiled
def root_of(groups: Groups, group: int) -> int:
    """Return the root of a group, and shorten the path to it."""
    root = group
    total = 0
    while groups.parent[root] != root:
        total += groups.downloads[root]
        root = groups.parent[root]
    while groups.parent[group] != root and group != root:
        following = groups.parent[group]
        own = groups.downloads[group]
        groups.parent[group] = root
        groups.downloads[group] = total
        total -= own
        group = following
    return root


@compiled
def downloads_along(groups: Groups, group: int) -> int:
    """Return the downloads along the path; a member's own count is the difference to this value when it joined."""
    total = groups.downloads[group]
    while groups.parent[group] != group:
        group = groups.parent[group]
        total += groups.downloads[group]
    return int(total)


@compiled
def merge(groups: Groups, one: int, other: int) -> int:
    """Merge two roots on the same state; return the remaining root, the larger one."""
    if groups.members[one] < groups.members[other]:
        one, other = other, one
    groups.parent[other] = one
    groups.downloads[other] -= groups.downloads[one]
    groups.members[one] += groups.members[other]
    groups.members[other] = 0
    return one


@compiled
def _push(groups: Groups, group: int) -> None:
    place = groups.heap_size[0]
    groups.heap_size[0] += 1
    due = groups.due[group]
    while place > 0:
        above = (place - 1) // 2
        if groups.heap_due[above] <= due:
            break
        groups.heap_due[place] = groups.heap_due[above]
        groups.heap_group[place] = groups.heap_group[above]
        place = above
    groups.heap_due[place] = due
    groups.heap_group[place] = group
    groups.in_heap[group] = True


@compiled
def _pop(groups: Groups) -> None:
    """Remove the first entry of the heap."""
    groups.heap_size[0] -= 1
    size = groups.heap_size[0]
    due = groups.heap_due[size]
    group = groups.heap_group[size]
    place = 0
    while True:
        below = 2 * place + 1
        if below >= size:
            break
        if below + 1 < size and groups.heap_due[below + 1] < groups.heap_due[below]:
            below += 1
        if groups.heap_due[below] >= due:
            break
        groups.heap_due[place] = groups.heap_due[below]
        groups.heap_group[place] = groups.heap_group[below]
        place = below
    groups.heap_due[place] = due
    groups.heap_group[place] = group
