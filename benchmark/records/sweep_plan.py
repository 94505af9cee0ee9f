"""The plan of a sweep, which is stored with it: a report lists those of its runs that are not finished."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from algorithms.hyperparameters import number_text
from benchmark.plan.plan import Plan

FILE = "plan.json"


@dataclass(frozen=True)
class PlannedSetting:
    """Planned runs that only differ in their seed.

    Args:
        dataset: the name of the stream.
        algorithm: the name of the method.
        front: the value on the front of the method, as text; empty without one.
        front_parameter: the parameter that the front varies; empty without one.
        values: hyper-parameters and options of the stream, as texts.
    """

    dataset: str
    algorithm: str
    front: str
    front_parameter: str
    values: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class SweepPlan:
    """What a sweep of one experiment planned.

    Args:
        runs: the key of each run, by setting and seed; finished runs are included.
        skipped: for each stream and each method that is not run on it, the reason in one line.
        absent: the data sets that were not prepared.
    """

    runs: Mapping[tuple[PlannedSetting, int], str]
    skipped: Mapping[tuple[str, str], str]
    absent: tuple[str, ...] = ()

    def to_json(self) -> str:
        """Return the plan as text."""
        keys: dict[PlannedSetting, dict[int, str]] = {}
        for (setting, seed), key in self.runs.items():
            keys.setdefault(setting, {})[seed] = key
        settings = [{**vars(setting), "keys": by_seed} for setting, by_seed in keys.items()]
        skipped = [[*pair, reason] for pair, reason in self.skipped.items()]
        return json.dumps({"settings": settings, "skipped": skipped, "absent": self.absent})

    @classmethod
    def from_json(cls, text: str) -> "SweepPlan":
        """Return the plan of a text."""
        content = json.loads(text)
        runs: dict[tuple[PlannedSetting, int], str] = {}
        for fields in content["settings"]:
            keys = fields.pop("keys")
            setting = PlannedSetting(**{**fields, "values": tuple((name, value) for name, value in fields["values"])})
            runs |= {(setting, int(seed)): str(key) for seed, key in keys.items()}
        skipped = {(stream, method): reason for stream, method, reason in content["skipped"]}
        return cls(runs, skipped, tuple(content["absent"]))


def plan_of(plan: Plan, experiment: str) -> SweepPlan:
    """Return the part of a plan that belongs to an experiment."""
    runs: dict[tuple[PlannedSetting, int], str] = {}
    streams = set()
    for run in plan.runs:
        if run.experiment == experiment:
            streams.add(run.stream.name)
            front = run.front.parameter if run.front else ""
            values = sorted({**run.stream.settings(), **run.parameters}.items())
            texts = tuple((name, number_text(value)) for name, value in values)
            setting = PlannedSetting(run.stream.name, run.info.name, run.threshold, front, texts)
            runs[setting, run.seed] = run.key
    skipped = {pair: reason for pair, reason in plan.skipped.items() if pair[0] in streams}
    return SweepPlan(runs, skipped, tuple(plan.missing))


def merged(plans: Iterable[SweepPlan]) -> SweepPlan:
    """Return one plan of several, given in the order of the sweeps: a run has the key of the latest of them."""
    runs: dict[tuple[PlannedSetting, int], str] = {}
    skipped: dict[tuple[str, str], str] = {}
    absent: tuple[str, ...] = ()
    for plan in plans:
        runs |= plan.runs
        skipped |= plan.skipped
        absent = plan.absent
    return SweepPlan(runs, skipped, absent)
