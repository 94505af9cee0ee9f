"""Which data and which code a recorded run used.

Results on different data with the same name, or by different code of a method, are never shown together.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any, get_args

from benchmark.records.record import RunRecord

MAX_CODES = 3
"""Versions of a class that a sentence lists; more are only counted."""


def split_by_data(runs: Sequence[RunRecord], prepared: Mapping[str, str]) -> tuple[list[RunRecord], list[RunRecord]]:
    """Split runs into those to show and those on other data; `runs` are in the order in which they ended.

    For each data set, runs on the currently prepared data are shown: `prepared` holds their fingerprints by name. For a
    data set that is not prepared, runs on the same data as the newest run are shown. All simulations are shown: their
    parameters fully determine their data.
    """
    by_name: dict[str, list[RunRecord]] = defaultdict(list)
    for run in runs:
        if not run.stream.is_simulated:
            by_name[run.stream.name].append(run)
    hidden_ids: set[int] = set()
    for name, dataset_runs in by_name.items():
        if name in prepared:
            visibility = [is_made_from(run, prepared[name]) for run in dataset_runs]
        else:
            versions = _data_versions(dataset_runs)
            visibility = [version == versions[-1] for version in versions]
        hidden_ids |= {id(run) for run, is_shown in zip(dataset_runs, visibility, strict=True) if not is_shown}
    return [run for run in runs if id(run) not in hidden_ids], [run for run in runs if id(run) in hidden_ids]


def split_by_code(runs: Sequence[RunRecord]) -> tuple[list[RunRecord], list[RunRecord]]:
    """Split runs into those by the newest code of each method within its experiment, and those by earlier code.

    `runs` are in the order in which they ended: the newest code is the one executed last. Records of users' classes
    without the hash of their source are older than any with one. A run that was recorded again is in neither list.
    """
    newest: dict[tuple[str, str], str] = {}
    for run in sorted(runs, key=lambda run: bool(run.method.code)):
        newest[run.experiment, run.method.name] = run.method.code_version
    is_newest = [newest[run.experiment, run.method.name] == run.method.code_version for run in runs]
    shown = [run for run, is_shown in zip(runs, is_newest, strict=True) if is_shown]
    keys = {(run.experiment, run.key) for run in shown}
    earlier = [run for run, is_shown in zip(runs, is_newest, strict=True) if not is_shown]
    return shown, [run for run in earlier if (run.experiment, run.key) not in keys]


def data_versions(runs: Sequence[RunRecord]) -> list[str]:
    """Return a label for the data of each run, in the order in which they ended: runs with different labels used other
    data. It is the fingerprint of the prepared data, if it is known, and empty for simulations."""
    versions = [run.stream.prepared for run in runs]
    by_name: dict[str, list[int]] = defaultdict(list)
    for index, run in enumerate(runs):
        if not run.stream.is_simulated:
            by_name[run.stream.name].append(index)
    for indices in by_name.values():
        if not all(versions[index] for index in indices):
            inferred = _data_versions([runs[index] for index in indices])
            for index, version in zip(indices, inferred, strict=True):
                versions[index] = version
    return versions


def is_made_from(run: RunRecord, prepared: str) -> bool:
    """Return whether a run used the prepared data with this fingerprint.

    Older runs do not record it; they are recognised by the fingerprint of their stream, which depends on that of the
    data.
    """
    stream = run.stream
    if stream.prepared:
        return stream.prepared == prepared
    return stream.fingerprint in stream_fingerprints(prepared, run.seed, stream.size("arms"), stream.size("dimension"))


@lru_cache(maxsize=4096)
def stream_fingerprints(prepared: str, seed: int, arms: int, dimension: int) -> frozenset[str]:
    """Return the fingerprints of all streams that prepared data can yield with this seed and these sizes.

    Only options that are older than the tag for the data are considered: runs with a later option have the tag.
    """
    from data_pipelines.stream_spec import DatasetSpec

    values = (get_args(DatasetSpec.model_fields[name].annotation) for name in ("scaling", "positive"))
    specs = (
        DatasetSpec.model_construct(arms=arms, dimension=dimension, scaling=scaling, positive=positive)
        for scaling, positive in product(*values)
    )
    return frozenset(spec.fingerprint(seed, prepared) for spec in specs)


def fingerprints_prepared_now(names: Iterable[str], folder: Path) -> dict[str, str]:
    """Return the fingerprints of the named data sets, as far as they are prepared in the folder."""
    from data_pipelines.prepare.prepared import NotPreparedError, read_sealed_manifest

    fingerprints = {}
    for name in names:
        try:
            fingerprints[name] = str(read_sealed_manifest(folder / name)["fingerprint"])
        except NotPreparedError:
            continue
    return fingerprints


def data_sets_of(runs: Iterable[RunRecord]) -> set[str]:
    """Return the names of the data sets used by runs; simulations are not data sets."""
    return {run.stream.name for run in runs if not run.stream.is_simulated} - {""}


def describe_data(run: RunRecord) -> str:
    """Describe the data of a run: their source and size."""
    sizes = run.stream.sizes
    known_sizes = [f"{sizes[name]:,} {name}" for name in ("clients", "steps") if name in sizes]
    return ", ".join([run.stream.source or "unknown source", *known_sizes])


def left_out_sentences(rows: Iterable[tuple[str, str, int]], prepared: Iterable[str]) -> list[str]:
    """Return one sentence per data set about runs left out; each row has data set, description and number of runs."""
    by_name: dict[str, Counter[str]] = defaultdict(Counter)
    for name, description, count in rows:
        by_name[name][description] += count
    prepared_names, sentences = set(prepared), []
    for name, counts in sorted(by_name.items()):
        total = counts.total()
        details = "; ".join(f"{count:,} on {data}" if len(counts) > 1 else data for data, count in counts.items())
        reason = (
            "only runs on the currently prepared data are shown"
            if name in prepared_names
            else f"{name} is not prepared on this machine, so only runs on the data of the newest run are shown"
        )
        sentences.append(f"{name}: {total:,} run{'s' * (total > 1)} on other data ({details}) left out; {reason}")
    return sentences


def earlier_code_sentences(runs: Iterable[RunRecord]) -> list[str]:
    """Return one sentence per method about its runs by earlier code."""
    by_label: dict[str, Counter[str]] = defaultdict(Counter)
    for run in runs:
        by_label[run.method.info.label][run.method.code_version] += 1
    sentences = []
    for label, counts in sorted(by_label.items()):
        total = counts.total()
        codes = ", ".join(counts) if len(counts) <= MAX_CODES else f"{len(counts)} versions"
        sentences.append(
            f"{label}: {total:,} run{'s' * (total > 1)} by earlier code ({codes}) left out; "
            "only runs by the latest code are shown"
        )
    return sentences


def _data_versions(runs: Sequence[RunRecord]) -> list[str]:
    """Return a label for the data of each run of one data set: the fingerprint if known, otherwise an inferred one.

    Without a fingerprint, data are distinguished by source and sizes; and if the same stream has two fingerprints, the
    data were prepared again between the two runs. Runs on new data that ended before the first such pair count as runs
    on the old data: they are left out, not mixed in.
    """
    fingerprints = list(dict.fromkeys(run.stream.prepared for run in runs if run.stream.prepared))
    streams: dict[str, dict[tuple[Any, ...], str]] = defaultdict(dict)
    renewals: Counter[str] = Counter()
    versions = []
    for run in runs:
        version = next((prepared for prepared in fingerprints if is_made_from(run, prepared)), "")
        if not version:
            description, stream = describe_data(run), _stream_of(run)
            fingerprint = run.stream.fingerprint
            if streams[description].setdefault(stream, fingerprint) != fingerprint:
                renewals[description] += 1
                streams[description] = {stream: fingerprint}
            version = f"{description}, version {renewals[description] + 1}"
        versions.append(version)
    return versions


def _stream_of(run: RunRecord) -> tuple[Any, ...]:
    """Return the values that distinguish the streams of one data set."""
    sizes = (run.stream.size(name) for name in ("arms", "dimension"))
    return (run.seed, *sizes, *(run.stream.options.get(name) for name in ("scaling", "positive")))
