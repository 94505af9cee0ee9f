"""How long runs will take: as long as the same took before, or by the usual time of a step."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import mean

from benchmark.finished import FinishedRun
from benchmark.plan import Run

MICROSECONDS = {
    "async-linucb": 6.0,
    "async-linucb-as-published": 9.0,
    "async-linucb-am": 18.0,
    "sync-linucb": 6.0,
    "random": 0.1,
}
"""A step of each method before anything was measured here; of a class in plain Python it is far more."""

PLAIN_PYTHON = 100.0
USUAL_STEPS = {"lastfm": 92_834, "delicious": 104_799, "movielens": 214_729}
OVERHEAD = 1.2
"""What the harness adds to the kernels."""


def expected_seconds(runs: Iterable[Run], finished: Sequence[FinishedRun]) -> Mapping[str, float]:
    """Return the seconds of one core that each run is expected to take, by its key."""
    measured: dict[tuple[str, str], list[float]] = defaultdict(list)
    for each in finished:
        place = (each.parameters["dataset"], each.parameters["algorithm"])
        measured[place].append(each.metrics.get("kernel_seconds", 0.0))
    usual = {place: mean(seconds) for place, seconds in measured.items()}
    return {
        run.key: OVERHEAD * usual.get((run.source.name, run.algorithm_name), _by_steps(run))
        for run in {run.key: run for run in runs}.values()
    }


def _by_steps(run: Run) -> float:
    steps = dict(run.source.settings).get("steps") or USUAL_STEPS.get(run.source.name, 100_000)
    return MICROSECONDS.get(run.algorithm_name, PLAIN_PYTHON) * steps / 1e6


def duration(seconds: float) -> str:
    """Write a time as people say it: 40 s, 12 min, 3 h 5 min."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"
