"""Why finished runs are repeated: the version of their method has been raised since."""

from collections import Counter, defaultdict
from collections.abc import Iterable

from algorithms.method import MethodInfo
from benchmark.plan.plan import Run
from benchmark.records.record import MethodRecord, RunRecord, comparable, decoded, encoded


def repeated_sentences(remaining: Iterable[Run], finished: Iterable[RunRecord]) -> list[str]:
    """Return one sentence per method and earlier version of which runs will be repeated, with what changed since."""
    by_stream: dict[tuple[str, str, str], list[MethodRecord]] = defaultdict(list)
    for record in finished:
        by_stream[record.experiment, record.method.name, record.stream.fingerprint].append(record.method)
    counts: Counter[tuple[str, int]] = Counter()
    infos: dict[str, MethodInfo] = {}
    for run in remaining:
        if run.info.version > 1:
            infos[run.info.name] = run.info
            earlier = by_stream[run.experiment, run.info.name, run.fingerprint]
            counts.update({(run.info.name, each.version) for each in earlier if _is_earlier(each, run)})
    return [_sentence(infos[name], version, count) for (name, version), count in sorted(counts.items())]


def _is_earlier(method: MethodRecord, run: Run) -> bool:
    """Whether a recorded method is an earlier version with the same parameters, as far as it had them."""
    values = {name: comparable(decoded(encoded(value))) for name, value in run.parameters.items()}
    is_same = method.comparable_parameters.items() <= values.items()
    return is_same and method.version < run.info.version


def _sentence(info: MethodInfo, version: int, count: int) -> str:
    changes = info.changes_since(version)
    reason = f" because version {info.version} changed: {'; '.join(changes)}" if changes else ""
    runs = "1 finished run is" if count == 1 else f"{count:,} finished runs are"
    they = "it is" if count == 1 else "they are"
    return f"{info.label}: {runs} of version {version}; {they} repeated{reason}"
