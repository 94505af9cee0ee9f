"""What `fedbandit run` says at the end, and what `--dry-run` says instead."""

from collections import defaultdict
from collections.abc import Sequence
from statistics import mean

from benchmark.estimate import duration, expected_seconds
from benchmark.experiment import Experiment
from benchmark.finished import FinishedRun
from benchmark.plan import Run
from benchmark.store import Store
from benchmark.tracking import sqlite_file
from data_pipelines.secrets import without_user


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
    """List the settings, how many of their seeds are done, and estimate the time for the rest."""
    open_runs = {(run.experiment, run.key) for run in todo}
    settings: dict[tuple[str, str, str], list[Run]] = defaultdict(list)
    for run in runs:
        settings[run.experiment, run.source.name, run.setting].append(run)
    for (experiment, stream, setting), same in settings.items():
        left = sum((run.experiment, run.key) in open_runs for run in same)
        state = "done" if not left else "to do" if left == len(same) else f"{left} to do"
        seeds = len({run.seed for run in same})
        variants = f", {len(same) // seeds} variants" if len(same) > seeds else ""
        many = f"{seeds} seeds" if seeds > 1 else f"seed {same[0].seed}"
        print(f"{state:<9} {experiment:<18} {stream:<28} {setting}, {many}{variants}")
    seconds = sum(expected_seconds(todo, finished).values()) / jobs
    print(
        f"\n{len(runs):,} runs, {len(runs) - len(todo):,} done, {len(todo):,} to do: "
        f"about {duration(seconds)} on {jobs} jobs"
    )
