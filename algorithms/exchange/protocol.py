"""Algorithm 1, the event-triggered protocol, compiled: its cost depends on neither N nor C_T.

V_i - ΔV_i = V_g - ΔV_-i (appendix B): both are the state on which client and server last agreed, so no download
buffers are needed. A client's model is an agreed state plus its own unsent data (`pending`), and the agreed state is a
server version plus, temporarily, the client's own uploads since that version. Clients on the same version form a group;
an upload makes a new version and moves the groups that are due (`groups`); a client's model is assembled only when it
acts. An uploader that has the newest version agrees on the new one without a download; any other uploader that is not
due for a download leaves its group for a private one.

A learner calls `arrive` and `write_model` before a decision and `observe` after it. What it learns is up to it: the
protocol moves {V, b} and never reads b.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from algorithms.exchange.groups import (
    Groups,
    downloads_along,
    make_group,
    merge,
    new_groups,
    next_due,
    root_of,
    settle,
)
from algorithms.exchange.pending import Pending, add_rows, add_unsent, condense, forget, new_pending, record
from algorithms.exchange.pending import write_model as write_pending_model
from algorithms.exchange.versions import EMPTY, Versions, make_version, new_versions, release, with_room
from algorithms.hyperparameters import per_client
from algorithms.messages import numbers_in_statistics
from algorithms.numerics.elimination import System, eliminate, new_system
from algorithms.numerics.jit import compiled, entry_point
from algorithms.numerics.references import reference
from algorithms.numerics.tolerances import TRIGGER
from algorithms.stream import Stream
from algorithms.trace import Counts


class Protocol(NamedTuple):
    """The state of Algorithm 1 and its record.

    `log_gamma_upload` … `downloads_of`: one entry per client; `log_gamma_download` … `newest_serial`: one per γ_D
    class; `uploads` … `needed_down`: one per step. `needed_down`: whether the acting client had downloaded since it
    last acted; every upload is needed, because it has data.
    """

    ridge: float
    welcome: bool
    pending: Pending
    versions: Versions
    groups: Groups
    scratch: System
    log_gamma_upload: NDArray[np.float64]
    download_class: NDArray[np.int32]
    group: NDArray[np.int32]
    base_serial: NDArray[np.int64]
    uploads_of: NDArray[np.int64]
    downloads_of: NDArray[np.int64]
    log_gamma_download: NDArray[np.float64]
    newcomers: NDArray[np.int32]
    newest_group: NDArray[np.int32]
    newest_serial: NDArray[np.int64]
    uploads: NDArray[np.int64]
    downloads: NDArray[np.int64]
    needed_down: NDArray[np.bool_]


def new_protocol(algorithm: Any, stream: Stream, features: slice) -> Protocol:
    """Start with an empty server and no known clients, with λ and the thresholds of a method."""
    clients, steps, dimension = len(stream.client_ids), len(stream.pools), features.stop - features.start
    gamma_upload = per_client("gamma_upload", algorithm.gamma_upload, clients)
    gamma_download = per_client("gamma_download", algorithm.gamma_download, clients)
    classes, download_class = np.unique(gamma_download, return_inverse=True)
    return Protocol(
        ridge=algorithm.ridge,
        welcome=algorithm.welcome,
        pending=new_pending(stream.items, features.start, dimension, clients, steps),
        versions=new_versions(64, dimension, algorithm.ridge),
        groups=new_groups(steps + clients + 1),
        scratch=new_system(dimension, 0),
        log_gamma_upload=np.log(gamma_upload),
        download_class=download_class.astype(np.int32),
        group=np.full(clients, -1, dtype=np.int32),
        base_serial=np.zeros(clients, dtype=np.int64),
        uploads_of=np.zeros(clients, dtype=np.int64),
        downloads_of=np.zeros(clients, dtype=np.int64),
        log_gamma_download=np.log(classes),
        newcomers=np.full(len(classes), -1, dtype=np.int32),
        newest_group=np.full(len(classes), -1, dtype=np.int32),
        newest_serial=np.full(len(classes), -1, dtype=np.int64),
        uploads=np.zeros(steps, dtype=np.int64),
        downloads=np.zeros(steps, dtype=np.int64),
        needed_down=np.zeros(steps, dtype=np.bool_),
    )


def prepared_for(protocol: Protocol, steps: int) -> Protocol:
    """Return a protocol with room for the versions of the next `steps` steps: at most three per step."""
    return protocol._replace(versions=with_room(protocol.versions, 3 * steps))


def transfer_counts(protocol: Protocol, stream: Stream) -> tuple[Counts, Counts]:
    """Return the transfers so far, by step and by client."""
    p, size = protocol, numbers_in_statistics(protocol.versions.b.shape[1])
    downloads_of = p.downloads_of.copy()
    _add_downloads(reference(p), downloads_of)
    needed_of = np.bincount(stream.client_numbers[p.needed_down], minlength=len(downloads_of))
    by_step = (p.uploads, p.downloads, p.uploads.copy(), p.needed_down.astype(np.int64))
    by_client = (p.uploads_of, downloads_of, p.uploads_of.copy(), needed_of)
    of_step, of_client = (Counts.of_one_size(*each, size_up=size, size_down=size) for each in (by_step, by_client))
    return of_step, of_client


@entry_point
def _add_downloads(protocol: Protocol, counts: NDArray[np.int64]) -> None:
    for client in range(counts.size):
        if protocol.group[client] >= 0:
            root_of(protocol.groups, protocol.group[client])
            counts[client] += downloads_along(protocol.groups, protocol.group[client])


@compiled
def arrive(protocol: Protocol, client: int, step: int) -> bool:
    """Add a new client, then apply a download since the client last acted; return whether there was one."""
    if protocol.group[client] < 0:
        _join(protocol, client, step)
    protocol.needed_down[step] = is_needed = catch_up(protocol, client)
    return is_needed


@compiled
def _join(protocol: Protocol, client: int, step: int) -> None:
    """Add a client: it starts on the empty version, so that the next upload may send it the whole server state.

    A client that is welcome downloads the newest version at once, if it has data.
    """
    groups, versions = protocol.groups, protocol.versions
    kind = protocol.download_class[client]
    protocol.base_serial[client] = versions.serial[EMPTY]
    if protocol.welcome and versions.newest[0] != EMPTY:
        _enter(protocol, client, _group_on_newest(protocol, kind), 1)
        protocol.downloads[step] += 1
        return
    group = protocol.newcomers[kind]
    is_open = group >= 0 and groups.parent[group] == group and groups.members[group] > 0
    if not is_open or groups.version[group] != EMPTY or groups.is_private[group]:
        group = make_group(groups, kind)
        versions.references[EMPTY] += 1
        settle(groups, group, EMPTY, versions.log_det[EMPTY], protocol.log_gamma_download[kind], False)
        protocol.newcomers[kind] = group
    _enter(protocol, client, group, 0)


@compiled
def catch_up(protocol: Protocol, client: int) -> bool:
    """Apply a download since the client last acted; return whether there was one."""
    version = protocol.groups.version[root_of(protocol.groups, protocol.group[client])]
    if protocol.base_serial[client] == protocol.versions.serial[version]:
        return False
    protocol.base_serial[client] = protocol.versions.serial[version]
    protocol.pending.own[client] = protocol.pending.unsent[client]
    return True


@compiled
def base_of(protocol: Protocol, client: int) -> int:
    """Return the version to which the client's own data are added."""
    return int(protocol.groups.version[root_of(protocol.groups, protocol.group[client])])


@compiled
def count_of(protocol: Protocol, client: int) -> int:
    """Return the number of observations in the client's V_i, own and received."""
    return int(protocol.versions.observations[base_of(protocol, client)] + protocol.pending.own[client])


@compiled
def write_model(protocol: Protocol, client: int, rows: NDArray[np.float64], b_column: int) -> None:
    """Write the client's {V_i, b_i} into the rows of a system."""
    base = base_of(protocol, client)
    write_pending_model(protocol.pending, client, protocol.versions.V[base], protocol.versions.b[base], rows, b_column)


@compiled
def observe(protocol: Protocol, client: int, step: int, item: int, target: float, log_det: float) -> None:
    """Record an observation, then run Algorithm 1. `log_det` is that of V_i(λ) including the observation."""
    record(protocol.pending, client, step, item, target)
    communicate(protocol, client, step, log_det)


@compiled
def communicate(protocol: Protocol, client: int, step: int, log_det: float) -> None:
    """Algorithm 1 for a client whose data are recorded."""
    pending, groups = protocol.pending, protocol.groups
    if pending.slot[client] < 0 and pending.own[client] > pending.row_limit:
        _condense(protocol, client)
    if pending.unsent[client] == 0:
        return  # the ratio is exactly 1
    root = root_of(groups, protocol.group[client])
    if log_det - groups.log_det[root] > protocol.log_gamma_upload[client] + TRIGGER:  # Eq. 3
        _upload(protocol, client, step, root, log_det)


@compiled
def _condense(protocol: Protocol, client: int) -> None:
    """Sum up own data with too many rows; those already uploaded are moved to a private version first."""
    pending, versions = protocol.pending, protocol.versions
    uploaded = pending.own[client] - pending.unsent[client]
    if uploaded > 0:
        root = root_of(protocol.groups, protocol.group[client])
        base = protocol.groups.version[root]
        version = make_version(versions, base)
        add_rows(pending, client, pending.unsent[client], uploaded, versions.V[version], versions.b[version])
        versions.observations[version] += uploaded
        protocol.groups.version[root] = version
        release(versions, base)
        protocol.base_serial[client] = versions.serial[version]
    if pending.unsent[client] > 0:
        condense(pending, client)
    else:
        pending.own[client] = 0


@compiled
def _upload(protocol: Protocol, client: int, step: int, root: int, log_det: float) -> None:
    """Lines 3 to 11: the new server version, the downloads it triggers, and the uploader's new agreed state."""
    pending, versions, groups = protocol.pending, protocol.versions, protocol.groups
    kind = protocol.download_class[client]
    log_gamma = protocol.log_gamma_download[kind]
    old = versions.newest[0]
    base = groups.version[root]
    held_newest = base == old and not groups.is_private[root]
    new = _new_server_version(protocol, client, log_det if held_newest else np.nan)
    server_log_det = versions.log_det[new]
    protocol.uploads[step] = 1
    protocol.uploads_of[client] += 1

    versions.references[base] += 1  # the uploader's reference, since it leaves its group
    _exit(protocol, client, root)
    downloads = _download_due_groups(protocol, new)

    is_due = not held_newest and server_log_det - log_det > log_gamma + TRIGGER  # Eq. 4
    if held_newest or is_due:
        _enter(protocol, client, _group_on_newest(protocol, kind), 1 if is_due else 0)
        forget(pending, client)
        if held_newest:  # a download is applied by `catch_up`
            protocol.base_serial[client] = versions.serial[new]
        downloads += 1 if is_due else 0
    else:
        _go_private(protocol, client, root, base, log_det)
    release(versions, base)
    release(versions, old)
    protocol.downloads[step] += downloads


@compiled
def _new_server_version(protocol: Protocol, client: int, log_det: float) -> int:
    """V_g += ΔV_i, b_g += Δb_i, as a new version; `log_det` is computed if it is NaN."""
    versions, rows = protocol.versions, protocol.scratch.rows
    version = make_version(versions, versions.newest[0])
    versions.newest[0] = version
    V, b = versions.V[version], versions.b[version]
    add_unsent(protocol.pending, client, V, b)
    versions.observations[version] += protocol.pending.unsent[client]
    if np.isnan(log_det):
        for i in range(b.size):
            row, version_row = rows[i], V[i]
            for j in range(row.size):
                row[j] = version_row[j] if j < b.size else 0.0
        log_det = eliminate(protocol.scratch, b.size, 0, protocol.ridge)
    versions.log_det[version] = log_det
    return version


@compiled
def _download_due_groups(protocol: Protocol, new: int) -> int:
    """Lines 6 to 11 for all groups at once; return the number of clients that download."""
    versions, groups = protocol.versions, protocol.groups
    log_det = versions.log_det[new]
    downloads = 0
    while True:
        group = next_due(groups, log_det - TRIGGER)
        if group < 0:
            return downloads
        downloads += groups.members[group]
        groups.downloads[group] += 1
        release(versions, groups.version[group])
        kind = groups.kind[group]
        if protocol.newest_serial[kind] != versions.serial[new]:
            winner = group
            versions.references[new] += 1
        else:
            winner = merge(groups, protocol.newest_group[kind], group)
        if winner == group:
            settle(groups, group, new, log_det, protocol.log_gamma_download[kind], False)
        protocol.newest_group[kind] = winner
        protocol.newest_serial[kind] = versions.serial[new]


@compiled
def _group_on_newest(protocol: Protocol, kind: int) -> int:
    """Return the group of a class on the newest version; make one if there is none."""
    versions, groups = protocol.versions, protocol.groups
    new = versions.newest[0]
    if protocol.newest_serial[kind] != versions.serial[new]:
        group = make_group(groups, kind)
        versions.references[new] += 1
        settle(groups, group, new, versions.log_det[new], protocol.log_gamma_download[kind], False)
        protocol.newest_group[kind] = group
        protocol.newest_serial[kind] = versions.serial[new]
    return int(protocol.newest_group[kind])


@compiled
def _go_private(protocol: Protocol, client: int, root: int, base: int, log_det: float) -> None:
    """The uploader agrees on its base plus all its own data: rows are kept, sums become a private version."""
    pending, versions, groups = protocol.pending, protocol.versions, protocol.groups
    kind = protocol.download_class[client]
    if pending.slot[client] >= 0:
        version = make_version(versions, base)
        add_unsent(pending, client, versions.V[version], versions.b[version])
        versions.observations[version] += pending.unsent[client]
        forget(pending, client)
    else:
        version = base
        versions.references[base] += 1
        pending.unsent[client] = 0
    was_alone = groups.is_private[root] and groups.members[root] == 0
    group = root if was_alone else make_group(groups, kind)
    settle(groups, group, version, log_det, protocol.log_gamma_download[kind], True)
    _enter(protocol, client, group, 0)
    protocol.base_serial[client] = versions.serial[version]


@compiled
def leave(protocol: Protocol, client: int, base: int) -> None:
    """Let a client stop: it neither uploads nor downloads from now on, and its own data are added to `base`."""
    versions, groups = protocol.versions, protocol.groups
    versions.references[base] += 1
    _exit(protocol, client, root_of(groups, protocol.group[client]))
    group = make_group(groups, protocol.download_class[client])
    settle(groups, group, base, versions.log_det[base], np.inf, True)
    _enter(protocol, client, group, 0)
    protocol.base_serial[client] = versions.serial[base]
    protocol.log_gamma_upload[client] = np.inf


@compiled
def _exit(protocol: Protocol, client: int, root: int) -> None:
    """Take the client out of its group, and keep its count of downloads so far."""
    groups = protocol.groups
    groups.members[root] -= 1
    if groups.members[root] == 0:
        release(protocol.versions, groups.version[root])
    protocol.downloads_of[client] += downloads_along(groups, protocol.group[client])


@compiled
def _enter(protocol: Protocol, client: int, group: int, downloads: int) -> None:
    """Add the client to a group, and keep its count of downloads so far."""
    groups = protocol.groups
    groups.members[group] += 1
    protocol.group[client] = group
    protocol.downloads_of[client] += downloads - downloads_along(groups, group)
