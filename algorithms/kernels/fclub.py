"""FCLUB compiled: Algorithm 1 inside each cluster of clients, and phases that cluster all clients by their estimates.

A client's copy of its cluster's state is a version. Clients on the same version form a group, as in
`exchange.protocol`, but every cluster has a newest version and a heap of its own, so that an upload visits only those
groups of its cluster that are due for a download: the time of a step depends on neither the number of clients nor the
size of a cluster. A phase takes place between two calls of the kernel; it compares all pairs of clients.

`FCLUBRun.clusters_by_step` has the number of clusters at each decision, `FCLUBRun.clusters` that after each phase.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist

from algorithms.compiled_run import CompiledRun, Events
from algorithms.exchange.groups import Groups, downloads_along, make_group, merge, new_groups, root_of
from algorithms.exchange.pending import (
    Pending,
    add_rows,
    add_unsent,
    condense,
    forget,
    new_pending,
    record,
    write_model,
)
from algorithms.exchange.read_ahead import read_arms_ahead, read_own_data_ahead
from algorithms.exchange.versions import EMPTY, Versions, make_version, new_versions, release, with_room
from algorithms.hyperparameters import Confidence, confidence_of
from algorithms.messages import numbers_in_statistics
from algorithms.methods.fclub import FCLUB
from algorithms.numerics.elimination import System, eliminate, new_system, place_arms, score, substitute_back
from algorithms.numerics.jit import compiled, entry_point
from algorithms.numerics.small_loops import set_zero
from algorithms.numerics.ties import pick_compiled
from algorithms.numerics.tolerances import EDGE, TRIGGER
from algorithms.stream import Stream, trace_of
from algorithms.trace import Counts, Trace

PAIRS_AT_ONCE = 1 << 17
"""How many pairs of clients a phase compares at once; with fewer there are more graphs, with more longer ones."""

NONE = -1


class Clusters(NamedTuple):
    """The state of server and clients, and the record.

    `cluster` … `downloads_of`: one entry per client; `newest` … `first_due`: one per cluster; `left` and `right`: one
    per group; `uploads` … `count_at`: one per step. Every upload is needed, because it has data.
    """

    log_gamma_upload: float
    log_gamma_download: float
    pending: Pending
    versions: Versions
    groups: Groups
    cluster: NDArray[np.int32]
    group: NDArray[np.int32]
    base_serial: NDArray[np.int64]
    """The serial number of the version with which the client last decided, its own uploads since then included."""
    log_ratio: NDArray[np.float64]
    """An upper bound for log det(S_i + ΔS)(λ) - log det S_i(λ): most steps need no determinant with the buffer."""
    uploads_of: NDArray[np.int64]
    downloads_of: NDArray[np.int64]
    newest: NDArray[np.int64]
    """The version that is the state of the cluster."""
    newest_group: NDArray[np.int64]
    """The group on that version, if any."""
    first_due: NDArray[np.int64]
    """The root of the cluster's heap of groups, ordered by when a download is due."""
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    uploads: NDArray[np.int64]
    downloads: NDArray[np.int64]
    needed_down: NDArray[np.bool_]
    count_at: NDArray[np.int32]
    """The number of clusters at each decision."""
    cluster_count: NDArray[np.int64]
    """The number of clusters, in an array of length 1."""


class State(NamedTuple):
    """Everything that a step reads and changes; `scratch` has room for one column and b."""

    events: Events
    confidence: Confidence
    seed: int
    clusters: Clusters
    system: System
    scratch: System
    choices: NDArray[np.int32]


class FCLUBRun(CompiledRun):
    """One run of FCLUB."""

    def __init__(self, algorithm: FCLUB, problem: Stream, seed: int) -> None:
        super().__init__(problem)
        dimension = problem.items.shape[1]
        self.distance = algorithm.distance
        self.clusters: list[tuple[int, int]] = []
        """For each phase with known clients the step before which it took place, and the number of clusters after."""
        self.state = State(
            events=self.events,
            confidence=confidence_of(algorithm),
            seed=seed,
            clusters=_new_clusters(algorithm, problem),
            system=new_system(dimension, problem.pools.shape[1]),
            scratch=new_system(dimension, 1),
            choices=self.choices,
        )

    @property
    def clusters_by_step(self) -> NDArray[np.int32]:
        """The number of clusters at each decision so far, the acting client's included."""
        return self.state.clusters.count_at[: self.step]

    def _advance(self, start: int, stop: int) -> int:
        while start < stop:
            if (start + 2).bit_count() == 1:
                self.hold_phase(start)
            next_phase = (1 << (start + 2).bit_length()) - 2
            end = min(next_phase, stop)
            self._make_room(2 * (end - start))
            reached = _run(start, end, self.refer(self.state))
            if reached < end:
                return reached
            start = end
        return stop

    def _make_room(self, versions: int) -> None:
        clusters = self.state.clusters
        self.state = self.state._replace(clusters=clusters._replace(versions=with_room(clusters.versions, versions)))

    def hold_phase(self, step: int) -> None:
        """Let all known clients upload their own data; if their clusters change, let them download."""
        clusters = self.state.clusters
        known = np.flatnonzero(clusters.cluster >= 0)
        if not len(known):
            return
        clusters.uploads[step] += len(known)
        clusters.uploads_of[known] += 1
        observations = np.bincount(self.events.clients[:step], minlength=len(clusters.cluster))
        estimates = np.zeros((len(known), self.problem.items.shape[1]))
        _estimate(self.refer(self.state), known, observations, estimates)
        labels = components(estimates, observations[known], self.distance)
        count = int(labels.max()) + 1
        if not np.array_equal(first_members(labels), first_members(clusters.cluster[known])):
            clusters.downloads[step] += len(known)
            self._make_room(count)
            _rebuild(self.refer(self.state), known, observations, labels, count)
        self.clusters.append((step, count))

    def trace(self) -> Trace:
        """Return the trace of the run."""
        clusters, size = self.state.clusters, numbers_in_statistics(self.problem.items.shape[1])
        downloads_of = clusters.downloads_of.copy()
        _add_downloads(self.refer(self.state), downloads_of)
        needed_down = clusters.needed_down
        needed_of = np.bincount(self.problem.client_numbers[needed_down], minlength=len(downloads_of))
        by_step = (clusters.uploads, clusters.downloads, clusters.uploads.copy(), needed_down.astype(np.int64))
        by_client = (clusters.uploads_of, downloads_of, clusters.uploads_of.copy(), needed_of)
        counts = [Counts.of_one_size(*each, size_up=size, size_down=size) for each in (by_step, by_client)]
        return trace_of(self.problem, self.choices, *counts)


def components(estimates: NDArray[np.float64], counts: NDArray[np.int64], distance: float) -> NDArray[np.int32]:
    """Return the number of each client's cluster: clients with close estimates are neighbours.

    Edges are followed block by block, so that memory does not grow with the number of pairs.
    """
    limits = (1 - EDGE) * distance * np.sqrt((1 + np.log(1 + counts)) / (1 + counts))
    labels, count = np.arange(len(limits), dtype=np.int32), len(limits)
    rows = max(1, PAIRS_AT_ONCE // len(limits))
    for start in range(0, len(limits), rows):
        block = slice(start, start + rows)
        is_edge = cdist(estimates[block], estimates[start:]) < limits[block, None] + limits[start:]
        is_edge &= labels[block, None] != labels[start:]
        if is_edge.any():
            one, other = np.nonzero(is_edge)
            ends = labels[start + one], labels[start + other]
            graph = coo_array((np.ones(len(one), dtype=np.bool_), ends), shape=(count, count))
            count, joined = connected_components(graph, directed=False)
            labels = joined[labels]
            if count == 1:
                break
    return labels


def first_members(labels: NDArray[Any]) -> NDArray[np.int64]:
    """Return for each entry the first one with the same label: the same for all labels of the same partition."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return first[inverse].astype(np.int64)


def _new_clusters(algorithm: FCLUB, stream: Stream) -> Clusters:
    """Start without known clients; there are never more clusters than clients."""
    clients, steps, dimension = len(stream.client_ids), len(stream.pools), stream.items.shape[1]
    groups = clients + steps + 1  # after a phase, one per cluster; then one per new client and one per upload
    return Clusters(
        log_gamma_upload=float(np.log(float(algorithm.gamma_upload))),  # type: ignore[arg-type]
        log_gamma_download=float(np.log(float(algorithm.gamma_download))),  # type: ignore[arg-type]
        pending=new_pending(stream.items, 0, dimension, clients, steps),
        versions=new_versions(64, dimension, algorithm.ridge),
        groups=new_groups(groups),
        cluster=np.full(clients, NONE, dtype=np.int32),
        group=np.full(clients, NONE, dtype=np.int32),
        base_serial=np.zeros(clients, dtype=np.int64),
        log_ratio=np.zeros(clients),
        uploads_of=np.zeros(clients, dtype=np.int64),
        downloads_of=np.zeros(clients, dtype=np.int64),
        newest=np.zeros(clients, dtype=np.int64),
        newest_group=np.zeros(clients, dtype=np.int64),
        first_due=np.zeros(clients, dtype=np.int64),
        left=np.empty(groups, dtype=np.int64),
        right=np.empty(groups, dtype=np.int64),
        uploads=np.zeros(steps, dtype=np.int64),
        downloads=np.zeros(steps, dtype=np.int64),
        needed_down=np.zeros(steps, dtype=np.bool_),
        count_at=np.zeros(steps, dtype=np.int32),
        cluster_count=np.zeros(1, dtype=np.int64),
    )


@entry_point
def _run(start: int, stop: int, state: State) -> int:
    """Run steps without a phase; return the step it stopped at, earlier where scores are not finite."""
    events, clusters, system, scratch = state.events, state.clusters, state.system, state.scratch
    pending, versions = clusters.pending, clusters.versions
    dimension = events.items.shape[1]
    for t in range(start, stop):
        client = events.clients[t]
        pool = events.pools[t]
        version = _arrive(clusters, client, t)
        place_arms(system, events.items, pool, 0, dimension)
        _write(versions.V[version], versions.b[version], system.rows, dimension + pool.size)
        if t + 1 < stop:
            read_arms_ahead(events.items, events.pools[t + 1])
            read_own_data_ahead(pending, events.clients[t + 1])
        log_det = score(system, dimension, state.confidence)
        choice = pick_compiled(system.scores, pool.size, state.seed, t)
        if choice < 0:
            return t
        state.choices[t] = choice
        record(pending, client, t, pool[choice], events.rewards[t, choice] + events.noise[t])
        if pending.slot[client] < 0 and pending.own[client] > pending.row_limit:
            condense(pending, client)
        clusters.log_ratio[client] += np.log1p(system.squared_widths[choice])  # less if the buffer had data
        if clusters.log_ratio[client] > clusters.log_gamma_upload and pending.unsent[client] > 1:
            write_model(pending, client, versions.V[version], versions.b[version], scratch.rows, dimension + 1)
            clusters.log_ratio[client] = eliminate(scratch, dimension, 1, state.confidence.ridge) - log_det
        if clusters.log_ratio[client] > clusters.log_gamma_upload + TRIGGER:
            _upload(state, client, t, log_det + clusters.log_ratio[client])
    return stop


@compiled
def _write(V: NDArray[np.float64], b: NDArray[np.float64], rows: NDArray[np.float64], b_column: int) -> None:
    """Write {V, b} into the rows of a system."""
    for i in range(b.size):
        row, V_row = rows[i], V[i]
        for j in range(b.size):
            row[j] = V_row[j]
        row[b_column] = b[i]


@compiled
def _arrive(clusters: Clusters, client: int, step: int) -> int:
    """Add a new client as a cluster of its own, or apply a download; return the version that the client has."""
    groups, versions = clusters.groups, clusters.versions
    if clusters.cluster[client] < 0:
        cluster = clusters.cluster_count[0]
        clusters.cluster_count[0] += 1
        clusters.cluster[client] = cluster
        versions.references[EMPTY] += 1
        _found(clusters, cluster, EMPTY)
        clusters.base_serial[client] = versions.serial[EMPTY]
        _enter(clusters, client, clusters.newest_group[cluster], 0)
    clusters.count_at[step] = clusters.cluster_count[0]
    version = groups.version[root_of(groups, clusters.group[client])]
    clusters.needed_down[step] = clusters.base_serial[client] != versions.serial[version]
    clusters.base_serial[client] = versions.serial[version]
    return int(version)


@compiled
def _found(clusters: Clusters, cluster: int, version: int) -> None:
    """Start a cluster on a version, of which it takes a reference, with an empty group on it."""
    clusters.newest[cluster] = version
    clusters.first_due[cluster] = NONE
    clusters.newest_group[cluster] = NONE
    _group_on_newest(clusters, cluster)


@compiled
def _group_on_newest(clusters: Clusters, cluster: int) -> int:
    """Return the group on the newest version of a cluster; make one if there is none."""
    if clusters.newest_group[cluster] < 0:
        version = clusters.newest[cluster]
        clusters.versions.references[version] += 1
        clusters.newest_group[cluster] = _make_group(clusters, cluster, version)
    return int(clusters.newest_group[cluster])


@compiled
def _make_group(clusters: Clusters, cluster: int, version: int) -> int:
    """Make an empty group on a version, of which it takes a reference."""
    group = make_group(clusters.groups, cluster)
    _settle(clusters, group, cluster, version)
    return group


@compiled
def _settle(clusters: Clusters, group: int, cluster: int, version: int) -> None:
    """Put a group on a version, and into the heap of its cluster unless it never downloads."""
    groups = clusters.groups
    groups.version[group] = version
    groups.due[group] = clusters.versions.log_det[version] + clusters.log_gamma_download
    if groups.due[group] < np.inf:
        clusters.left[group] = clusters.right[group] = NONE
        clusters.first_due[cluster] = _meld(clusters, clusters.first_due[cluster], group)


@compiled
def _meld(clusters: Clusters, one: int, other: int) -> int:
    """Merge two heaps by their roots; return the root. (A skew heap: children swap sides on the way.)"""
    due, left, right = clusters.groups.due, clusters.left, clusters.right
    root = above = NONE
    while one >= 0 and other >= 0:
        if due[other] < due[one]:
            one, other = other, one
        if above < 0:
            root = one
        else:
            left[above] = one
        above = one
        one, right[above] = right[above], left[above]
    rest = one if one >= 0 else other
    if above < 0:
        return int(rest)
    left[above] = rest
    return int(root)


@compiled
def _next_due(clusters: Clusters, cluster: int, bound: float) -> int:
    """Take the next group with members whose due value is below `bound` out of the heap; -1 if there is none."""
    groups = clusters.groups
    while clusters.first_due[cluster] >= 0:
        group = clusters.first_due[cluster]
        if groups.due[group] >= bound:
            break
        clusters.first_due[cluster] = _meld(clusters, clusters.left[group], clusters.right[group])
        if groups.members[group] > 0:
            return int(group)
    return NONE


@compiled
def _enter(clusters: Clusters, client: int, group: int, downloads: int) -> None:
    """Add the client to a group, and keep its count of downloads so far."""
    clusters.groups.members[group] += 1
    clusters.group[client] = group
    clusters.downloads_of[client] += downloads - downloads_along(clusters.groups, group)


@compiled
def _upload(state: State, client: int, step: int, log_det: float) -> None:
    """S_k += ΔS, S_i += ΔS; members whose copy lags too far behind download. `log_det` is that of the new S_i(λ)."""
    clusters = state.clusters
    versions, groups = clusters.versions, clusters.groups
    cluster = clusters.cluster[client]
    root = root_of(groups, clusters.group[client])
    base, old = int(groups.version[root]), int(clusters.newest[cluster])
    had_newest = base == old
    new = _with_buffer(clusters, client, old)
    versions.log_det[new] = log_det if had_newest else _log_det(state, new)
    is_due = not had_newest and versions.log_det[new] - log_det > clusters.log_gamma_download + TRIGGER
    private = NONE
    if not had_newest and not is_due:
        private = _with_buffer(clusters, client, base)
        versions.log_det[private] = log_det
    _empty_buffer(clusters, client)

    clusters.uploads[step] += 1
    clusters.uploads_of[client] += 1
    clusters.downloads_of[client] += downloads_along(groups, clusters.group[client])
    groups.members[root] -= 1
    if groups.members[root] == 0:
        release(versions, base)
    release(versions, old)
    clusters.newest[cluster] = new
    clusters.newest_group[cluster] = NONE
    clusters.downloads[step] += _download_due_groups(clusters, cluster) + is_due
    group = _group_on_newest(clusters, cluster) if private < 0 else _make_group(clusters, cluster, private)
    _enter(clusters, client, group, 1 if is_due else 0)
    if not is_due:  # its own upload is not a download
        clusters.base_serial[client] = versions.serial[groups.version[group]]


@compiled
def _empty_buffer(clusters: Clusters, client: int) -> None:
    forget(clusters.pending, client)
    clusters.log_ratio[client] = 0.0


@compiled
def _with_buffer(clusters: Clusters, client: int, base: int) -> int:
    """Return a new version: a version plus the client's buffer; its log-determinant is still that of the base."""
    version = make_version(clusters.versions, base)
    add_unsent(clusters.pending, client, clusters.versions.V[version], clusters.versions.b[version])
    return version


@compiled
def _log_det(state: State, version: int) -> float:
    """Return log det S(λ) of a version."""
    versions, scratch = state.clusters.versions, state.scratch
    dimension = versions.b.shape[1]
    _write(versions.V[version], versions.b[version], scratch.rows, dimension + 1)
    return eliminate(scratch, dimension, 1, state.confidence.ridge)


@compiled
def _download_due_groups(clusters: Clusters, cluster: int) -> int:
    """Move all groups that are due to the newest version; return the number of clients that download."""
    versions, groups = clusters.versions, clusters.groups
    new = clusters.newest[cluster]
    downloads = 0
    while True:
        group = _next_due(clusters, cluster, versions.log_det[new] - TRIGGER)
        if group < 0:
            return downloads
        downloads += groups.members[group]
        groups.downloads[group] += 1
        release(versions, groups.version[group])
        if clusters.newest_group[cluster] < 0:
            winner = group
            versions.references[new] += 1
        else:
            winner = merge(groups, clusters.newest_group[cluster], group)
        if winner == group:
            _settle(clusters, group, cluster, new)
        clusters.newest_group[cluster] = winner


@entry_point
def _estimate(
    state: State, clients: NDArray[np.int64], observations: NDArray[np.int64], estimates: NDArray[np.float64]
) -> None:
    """Set θ̂(V_i, b_i) of clients from all their own observations."""
    pending, scratch = state.clusters.pending, state.scratch
    dimension = estimates.shape[1]
    b, unused = state.system.factors[:dimension], state.system.factors[dimension : 2 * dimension]
    for place in range(clients.size):
        set_zero(scratch.rows)
        b[:] = 0.0
        add_rows(pending, clients[place], 0, observations[clients[place]], scratch.rows, b)
        for i in range(dimension):
            scratch.rows[i, dimension + 1] = b[i]
        eliminate(scratch, dimension, 1, state.confidence.ridge)
        substitute_back(scratch, dimension, estimates[place], unused)


@entry_point
def _rebuild(
    state: State, clients: NDArray[np.int64], observations: NDArray[np.int64], labels: NDArray[np.int32], count: int
) -> None:
    """Start all clusters with the sums of their members' own data, which the members download."""
    clusters = state.clusters
    versions = clusters.versions
    for client in clients:
        clusters.downloads_of[client] += downloads_along(clusters.groups, clusters.group[client])
        _empty_buffer(clusters, client)
    clusters.groups.made[0] = 0
    versions.used[0], versions.free_count[0] = EMPTY + 1, 0
    versions.references[EMPTY] = 2
    for cluster in range(count):
        clusters.newest[cluster] = make_version(versions, EMPTY)
    for place in range(clients.size):
        version = clusters.newest[labels[place]]
        add_rows(
            clusters.pending, clients[place], 0, observations[clients[place]], versions.V[version], versions.b[version]
        )
    for cluster in range(count):
        version = clusters.newest[cluster]
        versions.log_det[version] = _log_det(state, version)
        _found(clusters, cluster, version)
    for place in range(clients.size):
        clusters.cluster[clients[place]] = labels[place]
        _enter(clusters, clients[place], clusters.newest_group[labels[place]], 1)
    clusters.cluster_count[0] = count


@entry_point
def _add_downloads(state: State, counts: NDArray[np.int64]) -> None:
    clusters = state.clusters
    for client in range(counts.size):
        if clusters.group[client] >= 0:
            counts[client] += downloads_along(clusters.groups, clusters.group[client])
