"""`fedbandit run` from end to end: plan, leave out what is finished, sweep, sum up."""

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from benchmark.algorithm_names import parse_filter
from benchmark.experiment import MOST_SEEDS, Experiment, experiment_names, load_experiment
from benchmark.finished import finished_runs, something_is_running
from benchmark.nearest import unknown
from benchmark.plan import Run, Wanted, make_plan
from benchmark.store import Store
from benchmark.summary import print_dry_run, print_summary

INTERRUPTED = 130
SEED = re.compile(r"[0-9]{1,18}")


@dataclass(frozen=True)
class Request:
    """What `fedbandit run` was asked for."""

    experiments: tuple[str, ...] = ()
    profile: str = "quick"
    algorithms: tuple[str, ...] = ()
    datasets: tuple[str, ...] = ()
    seeds: str | None = None
    executor: str = "local"
    scheduler: str | None = None
    jobs: int | None = None
    dry_run: bool = False


def run_experiments(request: Request) -> int:
    """Run what is asked for and not finished yet; return the exit code."""
    _check_executor(request)
    experiments = find_experiments(request.experiments)
    plan = make_plan(experiments, wanted_of(request))
    for message in plan.missing.values():
        print(f"MISSING: {message}", file=sys.stderr)
    store = Store()
    used = {run.experiment for run in plan.runs}
    experiments = [experiment for experiment in experiments if experiment.name in used]
    finished = finished_runs(store, sorted(used))
    todo = left_over(plan.runs, {(each.experiment, each.key) for each in finished})
    if request.dry_run:
        print_dry_run(plan.runs, todo, finished, _jobs(request))
        return 1 if plan.missing else 0
    failures: list[str] = []
    if todo or something_is_running(store, sorted(used)):
        from benchmark.carry_out_plan import carry_out_plan

        failures, is_interrupted = carry_out_plan(store, experiments, plan.runs, request)
        if is_interrupted:
            print("Interrupted. Nothing finished is lost; to go on, run the same command again.", file=sys.stderr)
            return INTERRUPTED
        finished = finished_runs(store, sorted(used))
    elif plan.runs:
        print(f"{len(plan.runs)} runs, all of them finished: nothing to do.")
    else:
        print("There is nothing to run: all data that were asked for are missing.", file=sys.stderr)
        return 1
    print_summary(store, experiments, plan.runs, finished, failures)
    return 1 if failures or plan.missing else 0


def left_over(runs: Sequence[Run], finished: set[tuple[str, str]]) -> list[Run]:
    """Return the runs that are not finished in their experiment."""
    return [run for run in runs if (run.experiment, run.key) not in finished]


def find_experiments(names: Sequence[str]) -> list[Experiment]:
    """Load experiments by name, pattern or path; none given means all that are shipped."""
    shipped = experiment_names()
    found: list[str] = [] if names else shipped
    for name in names:
        matching = [each for each in shipped if fnmatchcase(each, name)]
        if not matching and not name.endswith(".toml"):
            own = [path.name for path in Path.cwd().glob("*.toml") if path.stem == name]
            raise ValueError(f"experiment is {name!r}; write {own[0]}") if own else unknown("experiment", name, shipped)
        found += matching or [name]
    return [load_experiment(name) for name in dict.fromkeys(found)]


def wanted_of(request: Request) -> Wanted:
    """Read the filters."""
    return Wanted(
        profile=request.profile,
        algorithms=tuple(parse_filter(text) for text in request.algorithms),
        datasets=request.datasets,
        seeds=parse_seeds(request.seeds) if request.seeds is not None else (),
    )


def parse_seeds(text: str) -> tuple[int, ...]:
    """Read `3` (the first three), `0,5` or `0-9`."""
    seeds: dict[int, None] = {}
    count = int(text) if SEED.fullmatch(text) else None
    parts = text.split(",") if count is None else [f"0-{count - 1}"] if count else []
    for part in parts:
        first, dash, last = (piece.strip() for piece in part.partition("-"))
        if not SEED.fullmatch(first) or (dash and not SEED.fullmatch(last)):
            raise _wrong_seeds(text)
        wanted = range(int(first), int(last if dash else first) + 1)
        if not wanted or len(wanted) + len(seeds) > MOST_SEEDS:
            raise _wrong_seeds(text)
        seeds.update(dict.fromkeys(wanted))
    if not seeds:
        raise _wrong_seeds(text)
    return tuple(seeds)


def _wrong_seeds(text: str) -> ValueError:
    return ValueError(
        f"--seeds is {text[:100]!r}; allowed are a number of seeds (3), a list (0,5) and a range (0-9, 0-0), "
        f"{MOST_SEEDS:,} seeds at most"
    )


def _check_executor(request: Request) -> None:
    if request.jobs is not None and request.jobs < 1:
        raise ValueError(f"--jobs is {request.jobs}; allowed are integers from 1")
    if request.executor == "dask" and not request.scheduler:
        raise ValueError("--scheduler is missing; --executor dask needs the address of a scheduler, tcp://HOST:PORT")
    if request.executor != "dask" and request.scheduler:
        raise ValueError("--scheduler is given; allowed only with --executor dask")
    if request.executor == "dask" and request.jobs:
        raise ValueError("--jobs is given; allowed only with --executor local: a cluster has the workers it has")


def _jobs(request: Request) -> int:
    from benchmark.carry_out_plan import usable_cores

    return request.jobs or usable_cores()
