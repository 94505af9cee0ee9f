"""The expected time of runs: from earlier runs of the same kind, or from the usual time per step."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import mean

from benchmark.plan.plan import Run
from benchmark.records.record import RunRecord

USUAL_STEPS = {"lastfm": 92_834, "delicious": 104_799, "movielens": 214_729}
OVERHEAD = 1.2
"""The total time of a run, relative to the time of its kernels."""


def expected_seconds(runs: Iterable[Run], finished: Sequence[RunRecord]) -> Mapping[str, float]:
    """Return the seconds of one core that each run is expected to take, by its key."""
    measured: dict[tuple[str, str], list[float]] = defaultdict(list)
    for record in finished:
        kind = (record.stream.name, record.method.name)
        measured[kind].append(record.metrics.get("kernel_seconds", 0.0))
    usual = {kind: mean(seconds) for kind, seconds in measured.items()}
    return {
        run.key: OVERHEAD * usual.get((run.stream.name, run.info.name), _by_steps(run))
        for run in {run.key: run for run in runs}.values()
    }


def _by_steps(run: Run) -> float:
    steps = getattr(run.stream, "steps", None) or USUAL_STEPS.get(run.stream.name, 100_000)
    microseconds = run.info.microseconds_per_step
    return microseconds * steps / 1e6


def duration(seconds: float) -> str:
    """Format a duration for display: 40 s, 12 min, 3 h 5 min."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"
