"""Making a data set ready: find its archive, verify it, read it, prepare it, and say honestly what it is."""

import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from data_pipelines.archive import Archive, ArchiveError
from data_pipelines.catalogue import find_data_set
from data_pipelines.data_set import Contents, Counts, DataSet
from data_pipelines.prepared import DEFAULT_DIMENSION, MOST_DIMENSIONS, NotPreparedError, prepare, read_manifest
from data_pipelines.safe_files import locked, sha256_of
from data_pipelines.sources import GENERATED, Source, Wishes, sources_of


@dataclass(frozen=True)
class Outcome:
    """How it went with one data set: its manifest if it is ready, else what was tried."""

    data_set: DataSet
    path: Path
    manifest: Mapping[str, Any] | None
    tried: tuple[str, ...] = ()
    was_prepared_before: bool = False


def make_ready(
    name: str,
    wishes: Wishes,
    *,
    parameters: Mapping[str, float] | None = None,
    dimension: int = DEFAULT_DIMENSION,
    dead_hosts: dict[str, str] | None = None,
) -> Outcome:
    """Make one data set ready; a second call does nothing. Only wrong parameters raise."""
    data_set = find_data_set(name)
    settings = _settings(data_set, parameters or {}, dimension)
    folder = wishes.folder / name
    # What is ready needs no lock: the folder may be shared and read-only.
    if (outcome := _ready_before(data_set, folder, settings, wishes)) is not None:
        return outcome
    with locked(wishes.folder, name):
        if (outcome := _ready_before(data_set, folder, settings, wishes)) is not None:
            return outcome
        if not wishes.force:
            _report_damage(folder)
        tried: list[str] = []
        for source in sources_of(data_set, wishes, {} if dead_hosts is None else dead_hosts):
            try:
                path = source.fetch()
                if path is None:
                    tried.append(f"{source.label} (not there)")
                    continue
                print(f"{name}: preparing from {source.label}", file=sys.stderr)
                manifest = _prepare_from(data_set, source, path, settings, folder)
                return Outcome(data_set, folder, manifest)
            except (ValueError, OSError) as error:
                tried.append(f"{source.label} ({error})")
        if _holds_stand_in(folder):
            tried.append(f"{folder} (a stand-in, which is not what was asked for)")
    return Outcome(data_set, folder, None, tuple(tried))


def _holds_stand_in(folder: Path) -> bool:
    try:
        return bool(read_manifest(folder)["source"] == "stand-in")
    except NotPreparedError:
        return False


def _ready_before(data_set: DataSet, folder: Path, settings: Mapping[str, float], wishes: Wishes) -> Outcome | None:
    manifest = None if wishes.force else _fitting_manifest(folder, settings, wishes)
    return None if manifest is None else Outcome(data_set, folder, manifest, was_prepared_before=True)


def _report_damage(folder: Path) -> None:
    try:
        if folder.exists():
            read_manifest(folder)
    except NotPreparedError as error:
        print(f"{str(error).partition('; run:')[0]}; preparing it anew", file=sys.stderr)


def _settings(data_set: DataSet, parameters: Mapping[str, float], dimension: int) -> dict[str, float]:
    allowed = ", ".join(data_set.parameters) or "none"
    for key, value in parameters.items():
        if key not in data_set.parameters:
            raise ValueError(f"parameter {key!r} is unknown to {data_set.name}; allowed are {allowed}")
        if not 0 <= value < float("inf"):
            raise ValueError(f"{key} is {value}; allowed are finite numbers from 0")
    if not 1 <= dimension <= MOST_DIMENSIONS:
        raise ValueError(f"dimension is {dimension}; allowed are integers from 1 to {MOST_DIMENSIONS}")
    return {**data_set.parameters, **parameters, "dimension": dimension}


def _fitting_manifest(folder: Path, settings: Mapping[str, float], wishes: Wishes) -> dict[str, Any] | None:
    """Return the manifest of what is prepared already, if it is sound and what was asked for.

    A stand-in is not what someone asks for who asks for data; real data will do where a stand-in would.
    """
    try:
        manifest = read_manifest(folder)
    except NotPreparedError:
        return None
    if manifest["parameters"] != settings:
        return None
    generated = str(manifest["origin"]).startswith(GENERATED)
    if generated and manifest["origin"] != f"{GENERATED}, {wishes.stand_in} size":
        return None
    return manifest


def _prepare_from(
    data_set: DataSet, source: Source, path: Path, settings: Mapping[str, float], folder: Path
) -> dict[str, Any]:
    size, digest = path.stat().st_size, sha256_of(path)
    try:
        with Archive(path, data_set.limits) as archive:
            contents = data_set.read(archive, settings)
            members, is_stand_in = dict(sorted(archive.hashes.items())), archive.is_stand_in
        if is_stand_in:
            kind, verified = "stand-in", "generated data: nothing to verify"
        else:
            kind, verified = _verify(data_set, source, digest, members, contents)
    except ArchiveError:
        if source.is_ours:
            path.unlink(missing_ok=True)
        raise
    about = {
        "name": data_set.name,
        "source": kind,
        "origin": source.origin,
        "archive": {"file": data_set.archive, "size": size, "sha256": digest},
        "members": members,
        "verified": verified,
        "counts": {"observed": asdict(contents.counts), "published": asdict(data_set.published)},
        "rows": {"observed": dict(contents.rows), "published": dict(data_set.published_rows)},
        "differences": [] if is_stand_in else differences(data_set, contents),
        "notes": list(contents.notes),
        "remarks": list(data_set.remarks),
        "parameters": {key: value for key, value in settings.items() if key != "dimension"},
        "groups": data_set.groups,
        "licence": data_set.licence,
        "citation": data_set.citation,
    }
    return prepare(contents, about, dimension=int(settings["dimension"]), folder=folder)


def _verify(
    data_set: DataSet, source: Source, digest: str, members: Mapping[str, str], contents: Contents
) -> tuple[str, str]:
    """Return the label of the source and how far its bytes could be verified."""
    if data_set.sha256 is not None and digest == data_set.sha256:
        return "official", "sha256 of the archive"
    known = data_set.member_sha256
    wrong = [member for member, sha256 in known.items() if members.get(member) != sha256]
    if known and not wrong:
        return "official", f"sha256 of {len(known)} of {len(members)} members (of the others none is known)"
    if source.is_official and (known or data_set.sha256):
        raise ArchiveError(f"wrong hash of {', '.join(wrong) or data_set.archive}: not the official bytes")
    counts = "counts DIFFER" if differences(data_set, contents) else "counts as published"
    if known or data_set.sha256:
        return "mirror", f"{counts}; not the official bytes"
    kind = "official" if source.is_official else "mirror"
    return kind, f"unverified: no hash is known (sha256 recorded); {counts}"


def differences(data_set: DataSet, contents: Contents) -> list[str]:
    """Say in which counts an archive differs from the published ones."""
    observed, published = asdict(contents.counts), asdict(data_set.published)
    found = [
        f"{what}: {observed[what]:,} of {published[what]:,} published"
        for what in asdict(Counts(0, 0, 0))
        if observed[what] != published[what]
    ]
    return found + [
        f"rows of {member}: {contents.rows[member]:,} of {count:,} published"
        for member, count in data_set.published_rows.items()
        if contents.rows[member] != count
    ]
