"""What `fedbandit run` says at the end, and what `--dry-run` says instead."""

from collections import defaultdict
from collections.abc import Sequence
from statistics import mean

from benchmark.experiment import Experiment
from benchmark.finished import FinishedRun
from benchmark.plan import Run
from benchmark.store import Store
from benchmark.tracking import sqlite_file
from data_pipelines.secrets import without_user

MICROSECONDS = {"async-linucb": 6.0, "sync-linucb": 6.0, "async-linucb-am": 16.0, "random": 0.1}
"""A step of each method before anything was measured here; of a class in plain Python it is far more."""

PLAIN_PYTHON = 100.0
USUAL_STEPS = {"lastfm": 92_834, "delicious": 104_799, "movielens": 214_729}


def print_summary(
    store: Store,
    experiments: Sequence[Experiment],
    finished: Sequence[FinishedRun],
    failures: Sequence[str],
    stand_ins: Sequence[str],
) -> None:
    """Print the best of each algorithm, the failures, where the records are, and how to look at and report them."""
    print()
    for experiment in experiments:
        runs = [each for each in finished if each.experiment == experiment.name]
        print(f"{experiment.name}  {experiment.title}  ({len(runs)} runs finished)")
        for line in best_lines(runs):
            print(f"  {line}")
    for dataset in stand_ins:
        print(f"{dataset} is a STAND-IN, generated data: no result on it is a finding")
    for failure in failures:
        print(f"FAILED {failure}")
    file = sqlite_file(store.uri)
    print(f"\nrecords  {without_user(store.uri)}" + (f", {file.parent / 'mlartifacts'}" if file else ""))
    last = experiments[-1].name if experiments else ""
    link = store.known_link(last)
    print(f"look     fedbandit ui {last}" + (f", or on its pages: {link}" if link else ""))
    print("report   fedbandit report: the paper's figures and tables, how we compare, one page")


def best_lines(runs: Sequence[FinishedRun]) -> list[str]:
    """Return a line for each stream and algorithm: its best threshold, by mean over seeds."""
    by_setting: dict[tuple[str, str], dict[str, list[FinishedRun]]] = defaultdict(lambda: defaultdict(list))
    for run in runs:
        place = (run.parameters["dataset"], run.parameters["algorithm"])
        by_setting[place][run.parameters.get("threshold", "")].append(run)
    lines = []
    for (dataset, algorithm), by_threshold in sorted(by_setting.items()):
        # The regret of a simulation is exact; on real data the usual figure is normalised reward.
        metric, sign = ("regret", -1) if dataset.startswith("simulated") else ("normalised_reward", 1)
        means = {
            threshold: mean(run.metrics.get(metric, float("nan")) for run in same)
            for threshold, same in by_threshold.items()
        }
        best = max(means, key=lambda threshold: sign * means[threshold])
        communication = mean(run.metrics.get("communication", float("nan")) for run in by_threshold[best])
        at = f" at threshold {float(best):g}" if best else ""
        seeds = len({run.parameters["seed"] for run in by_threshold[best]})
        variants = len(by_threshold[best]) // seeds
        together = f", mean over {variants} variants: the report tells them apart" if variants > 1 else ""
        lines.append(
            f"{dataset:<28} {algorithm:<18} best {metric.replace('_', ' ')} {means[best]:,.4g}{at}, "
            f"communication {communication:,.0f} ({seeds} seed{'s' if seeds > 1 else ''}{together})"
        )
    return lines


def print_dry_run(runs: Sequence[Run], todo: Sequence[Run], finished: Sequence[FinishedRun], jobs: int) -> None:
    """List the runs and which are done, and estimate the time for the rest."""
    open_runs = {(run.experiment, run.key) for run in todo}
    for run in runs:
        state = "to do" if (run.experiment, run.key) in open_runs else "done"
        print(f"{state:<6} {run.experiment:<18} {run.source.name:<28} {run.name}")
    seconds = estimate(todo, finished) / jobs
    print(
        f"\n{len(runs)} runs, {len(runs) - len(todo)} done, {len(todo)} to do: "
        f"about {_duration(seconds)} on {jobs} jobs"
    )


def estimate(todo: Sequence[Run], finished: Sequence[FinishedRun]) -> float:
    """Estimate the seconds of work left: as long as the same took before, or by the usual time of a step."""
    measured: dict[tuple[str, str], list[float]] = defaultdict(list)
    for each in finished:
        place = (each.parameters["dataset"], each.parameters["algorithm"])
        measured[place].append(each.metrics.get("kernel_seconds", 0.0))
    total = 0.0
    for run in {run.key: run for run in todo}.values():
        if before := measured.get((run.source.name, run.algorithm_name)):
            total += mean(before)
        else:
            steps = dict(run.source.settings).get("steps") or USUAL_STEPS.get(run.source.name, 100_000)
            total += MICROSECONDS.get(run.algorithm_name, PLAIN_PYTHON) * steps / 1e6
    return total * 1.2


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
