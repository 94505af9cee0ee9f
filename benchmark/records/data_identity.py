"""Which data and which code a recorded run used.

Results on different data with the same name, or by different code of a method, are never shown together.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from benchmark.metrics import Metric, OwnMetric
from benchmark.records.record import RunRecord

MAX_CODES = 3
"""Versions of a class that a sentence lists; more are only counted."""


def split_by_data(runs: Sequence[RunRecord], prepared: Mapping[str, str]) -> tuple[list[RunRecord], list[RunRecord]]:
    """Split runs into those to show and those on other data; `runs` are in the order in which they ended.

    For each data set, runs on the currently prepared data are shown: `prepared` holds their fingerprints by name. For a
    data set that is not prepared, runs on the same data as the newest run are shown. All simulations are shown: their
    parameters fully determine their data.
    """
    shown_data = {run.stream.name: run.stream.prepared for run in runs} | dict(prepared)
    shown: list[RunRecord] = []
    others: list[RunRecord] = []
    for run in runs:
        is_shown = run.stream.is_simulated or run.stream.prepared == shown_data[run.stream.name]
        (shown if is_shown else others).append(run)
    return shown, others


def split_by_code(runs: Sequence[RunRecord]) -> tuple[list[RunRecord], list[RunRecord]]:
    """Split runs into those by the newest code of each method within its experiment, and those by earlier code.

    `runs` are in the order in which they ended: the newest code is the one executed last. Records of users' classes
    without the hash of their source are older than any with one. A run that was recorded again is in neither list.
    """
    newest: dict[tuple[str, str], str] = {}
    for run in sorted(runs, key=lambda run: bool(run.method.code)):
        newest[run.experiment, run.method.name] = run.method.code_version
    shown = [run for run in runs if newest[run.experiment, run.method.name] == run.method.code_version]
    keys = {(run.experiment, run.key) for run in shown}
    return shown, [run for run in runs if (run.experiment, run.key) not in keys]


def split_by_metric_code(
    runs: Iterable[RunRecord],
) -> tuple[list[RunRecord], dict[str, Metric], dict[tuple[str, str], str]]:
    """Return runs with the values by the latest source of each metric of the user within an experiment.

    Also return how to show these metrics, by name; and a sentence for each experiment and metric that some of its runs
    have no such value of.
    """
    listed = list(runs)
    latest: dict[tuple[str, str], OwnMetric] = {}
    for run in listed:
        for name, own in run.own_metrics.items():
            known = latest.get((run.experiment, name))
            if known is None or own.at >= known.at:
                latest[run.experiment, name] = own
    if not latest:
        return listed, {}, {}
    shown, lacking = [], Counter[tuple[str, str]]()
    for run in listed:
        of_run = {name: own for (experiment, name), own in latest.items() if experiment == run.experiment}
        codes = {name: own.code for name, own in run.own_metrics.items()}
        current = {name for name, own in of_run.items() if codes.get(name) == own.code}
        lacking.update((run.experiment, name) for name in of_run.keys() - current)
        if stale := run.own_metrics.keys() - current:
            kept = {name: value for name, value in run.metrics.items() if name not in stale}
            measured = {name: own for name, own in run.own_metrics.items() if name in current}
            run = replace(run, metrics=kept, own_metrics=measured)
        shown.append(run)
    sentences = {
        (
            experiment,
            name,
        ): f"{name}: {count:,} run{'s' * (count > 1)} of {experiment} have no value by its latest source, "
        f"and means are over the others; to add it, run `fedbandit runs fill {latest[experiment, name].reference} "
        f"--experiment {experiment}`"
        for (experiment, name), count in sorted(lacking.items())
    }
    in_order = sorted(latest.items(), key=lambda pair: pair[1].at)
    return shown, {name: own.metric for (_, name), own in in_order}, sentences


def fingerprints_prepared_now(names: Iterable[str], folder: Path) -> dict[str, str]:
    """Return the fingerprints of the named data sets, as far as they are prepared in the folder."""
    from data_pipelines.prepare.prepared import NotPreparedError, read_sealed_manifest

    fingerprints = {}
    for name in names:
        with suppress(NotPreparedError):
            fingerprints[name] = str(read_sealed_manifest(folder / name)["fingerprint"])
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
        details = "; ".join(f"{count:,} on {data}" if len(counts) > 1 else data for data, count in counts.items())
        reason = "only runs on the currently prepared data are shown"
        if name not in prepared_names:
            reason = f"{name} is not prepared on this machine, so only runs on the data of the newest run are shown"
        sentences.append(f"{name}: {_runs(counts)} on other data ({details}) left out; {reason}")
    return sentences


def earlier_code_sentences(runs: Iterable[RunRecord]) -> list[str]:
    """Return one sentence per method about its runs by earlier code."""
    by_label: dict[str, Counter[str]] = defaultdict(Counter)
    for run in runs:
        by_label[run.method.info.label][run.method.code_version] += 1
    sentences = []
    for label, counts in sorted(by_label.items()):
        codes = ", ".join(counts) if len(counts) <= MAX_CODES else f"{len(counts)} versions"
        reason = "only runs by the latest code are shown"
        sentences.append(f"{label}: {_runs(counts)} by earlier code ({codes}) left out; {reason}")
    return sentences


def _runs(counts: Counter[str]) -> str:
    return f"{counts.total():,} run{'s' * (counts.total() > 1)}"
