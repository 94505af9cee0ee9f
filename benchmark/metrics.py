"""The metrics of a run. Each is declared here, and all other code relies on this declaration alone.

Recording, reading, axes, captions, sorting, the summary and the chart of the MLflow UI look metrics up in `METRICS`. To
add a built-in metric, add an entry. A metric of the user is in the records of the runs that have it, see `OwnMetric`.
"""

import json
import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from algorithms.messages import numbers_in_statistics

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from algorithms import Trace
    from data_pipelines import EventStream

SIMULATED = "simulated"
"""The source of streams whose expected rewards are known."""

Goal = Literal["hits", "value"]
"""What recommendations are judged by: how many are taken, or what is taken is worth."""

Part = Literal["earlier", "later"]
"""A part of the time of a stream in the order of time."""

GOALS: "Mapping[Goal, str]" = {"hits": "reward", "value": "value"}
PARTS: "tuple[Part, ...]" = ("earlier", "later")

BYTES_PER_NUMBER = 8
CURVE_SUFFIX = "_curve"


@dataclass(frozen=True)
class Metric:
    """One number per run, and everything that is needed to record, show and compare it.

    Args:
        name: its name in MLflow and in tables.
        label: its name for people.
        better: which values are better; `neither` if it is not a goal.
        of: its value for a run; NaN where it is undefined, and then it is not recorded. None for a time, which the
            process that executes the run measures.
        unit: what it counts, such as transfers or bytes; empty for a ratio or a sum of rewards.
        scale: the scale of an axis that shows it.
        curve: its contribution at each step; the running sum is recorded over time, as `NAME_curve`.
        curve_replaces: another metric: the curve is only recorded where runs are judged by this one, and is shown
            there in place of that of the other.
        symbol: its symbol in the paper.
        meaning: a longer name for captions, by default the label.
        by_chance: the value of a random choice, if it is the same on all data.
    """

    name: str
    label: str
    better: Literal["higher", "lower", "neither"]
    of: "Callable[[Trace, EventStream], float] | None" = None
    unit: str = ""
    scale: Literal["linear", "log", "log1p"] = "linear"
    curve: "Callable[[Trace], NDArray[Any]] | None" = None
    curve_replaces: str = ""
    symbol: str = ""
    meaning: str = ""
    by_chance: float | None = None

    @property
    def sign(self) -> int:
        """Factor that makes higher values better."""
        return -1 if self.better == "lower" else 1

    @property
    def direction(self) -> str:
        """Which values are better, in words; empty if it is not a goal."""
        return "" if self.better == "neither" else f"{self.better} is better"

    @property
    def description(self) -> str:
        """The name for captions."""
        return self.meaning or self.label

    @property
    def short_name(self) -> str:
        """The symbol, or the label of a metric without one."""
        return self.symbol or self.label

    @property
    def curve_name(self) -> str:
        """The name of its curve in MLflow."""
        return self.name + CURVE_SUFFIX

    def axis_label(self, *, is_log: bool = False) -> str:
        """Return the label of an axis in a picture: label, symbol, unit and scale."""
        symbol = f" ${self.symbol}$" if self.symbol else ""
        return f"{self.label}{symbol}{self._unit_text}" + (", log scale" if is_log else "")

    def plain_axis_label(self) -> str:
        """Return the label of an axis in an interactive plot, which shows the scale itself."""
        return f"{self.label}{self._unit_text}"

    @property
    def _unit_text(self) -> str:
        return f" ({self.unit})" if self.unit and self.unit not in self.label.split() else ""


SHOWN = ("label", "better", "unit", "scale", "symbol", "meaning", "by_chance")
"""The fields of a metric that say how to show it."""


@dataclass(frozen=True)
class OwnMetric:
    """A metric of the user, as runs record it: how to show it, where it is from, the hash of its source, and when.

    `metric` has no function: results are shown without the source. `at` is in milliseconds since the epoch; where runs
    have values by different sources, those by the latest are shown.
    """

    metric: Metric
    reference: str
    code: str
    at: int


OwnMetrics = Mapping[str, OwnMetric]
"""Metrics of the user, by name."""


MAX_JSON = 8000
"""Characters: MLflow refuses longer tags, or cuts them."""


def own_metrics_to_json(metrics: OwnMetrics) -> str:
    """Return metrics of the user as JSON; ValueError if there are too many for a tag."""
    content = {
        name: {
            **{field: getattr(own.metric, field) for field in SHOWN},
            "reference": own.reference,
            "code": own.code,
            "at": own.at,
        }
        for name, own in metrics.items()
    }
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    if len(text) > MAX_JSON:
        raise ValueError(f"what the metrics of a run say must have at most {MAX_JSON:,} characters, got {len(text):,}")
    return text


def own_metrics_from_json(text: str) -> OwnMetrics:
    """Return the metrics of a text that `own_metrics_to_json` wrote; none of any other text."""
    try:
        return {
            str(name): OwnMetric(
                Metric(str(name), **{field: values[field] for field in SHOWN}),
                str(values["reference"]),
                str(values["code"]),
                int(values["at"]),
            )
            for name, values in json.loads(text).items()
        }
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}


def normalised_reward(trace: "Trace", stream: "EventStream") -> float:
    """Return the reward divided by that of random choice; NaN if a payoff is negative, as in simulations."""
    by_chance = stream.random_reward if stream.rewards.min() >= 0 else 0.0
    return float(trace.rewards.sum()) / by_chance if by_chance else math.nan


def value(trace: "Trace", stream: "EventStream") -> float:
    """Return the value of what was taken; NaN on data without values."""
    return math.nan if stream.values is None else float(trace.rewards @ stream.values)


def normalised_in(goal: Goal, part: Part | None, trace: "Trace", stream: "EventStream") -> float:
    """Return the reward or value, divided by that of random choice, in a part of a stream in the order of time."""
    first = stream.first_later_step
    if (part and first is None) or (goal == "value" and stream.values is None) or stream.rewards.min() < 0:
        return math.nan
    steps = {None: slice(None), "earlier": slice(first), "later": slice(first, None)}[part]
    worth = 1.0 if stream.values is None or goal == "hits" else stream.values[steps]
    by_chance = float((stream.step_random_rewards[steps] * worth).sum())
    return float((trace.rewards[steps] * worth).sum()) / by_chance if by_chance else math.nan


def goal_metric(goal: Goal, part: Part | None = None) -> str:
    """Return the name of the metric that judges recorded data by hits or by value, in a part of the time or in all."""
    name = {"hits": "normalised_reward", "value": "normalised_value"}[goal]
    return f"{name}_{part}" if part else name


def amount(name: str, label: str, unit: str, of: "Callable[[Trace], float]") -> Metric:
    """Return a metric of what is sent; its axis shows zero and many orders of magnitude."""
    return Metric(name, label, "lower", lambda trace, stream: float(of(trace)), unit=unit, scale="log1p")


def numbers_moved(trace: "Trace") -> float:
    """Return the count of numbers in all transfers."""
    return float(trace.numbers_up.sum() + trace.numbers_down.sum())


def needed_numbers(trace: "Trace") -> float:
    """Return the count of numbers in all needed transfers."""
    return float(trace.needed_numbers_up.sum() + trace.needed_numbers_down.sum())


def needed_per_decision(trace: "Trace", stream: "EventStream") -> float:
    """Return the needed numbers per decision, in units of a full {V, b}: d (d + 1) / 2 + d numbers."""
    return needed_numbers(trace) / (stream.steps * numbers_in_statistics(stream.dimension))


METRICS: tuple[Metric, ...] = (
    Metric(
        "reward",
        "reward",
        "higher",
        lambda trace, stream: float(trace.rewards.sum()),
        curve=lambda trace: trace.rewards,
        meaning="cumulative reward",
    ),
    Metric(
        "normalised_reward",
        "normalised reward",
        "higher",
        normalised_reward,
        meaning="normalised reward (reward divided by that of random choice)",
        by_chance=1.0,
    ),
    Metric("value", "value taken", "higher", value),
    *(
        Metric(
            goal_metric(goal, part),
            f"normalised {noun}{f', {part} part' if part else ''}",
            "higher",
            partial(normalised_in, goal, part),
            by_chance=1.0,
        )
        for goal, noun in GOALS.items()
        for part in (None, *PARTS)
        if (goal, part) != ("hits", None)
    ),
    Metric(
        "regret",
        "regret",
        "lower",
        lambda trace, stream: float(trace.regret.sum()),
        scale="log",
        curve=lambda trace: trace.regret,
        curve_replaces="reward",
        symbol="R_T",
        meaning="cumulative regret",
    ),
    amount("uploads", "uploads", "transfers", lambda trace: trace.uploads.sum()),
    amount("downloads", "downloads", "transfers", lambda trace: trace.downloads.sum()),
    Metric(
        "communication",
        "communication",
        "lower",
        lambda trace, stream: float(trace.communication),
        unit="transfers",
        scale="log1p",
        curve=lambda trace: trace.uploads + trace.downloads,
        symbol="C_T",
    ),
    Metric(
        "log10_communication",  # MLflow's scatter chart has no logarithmic axis
        "log10 of 1 + communication",
        "lower",
        lambda trace, stream: math.log10(1 + trace.communication),
    ),
    amount(
        "transfers_per_client", "transfers per client", "", lambda trace: trace.communication / len(trace.client_ids)
    ),
    amount("numbers_up", "numbers sent by clients", "numbers", lambda trace: trace.numbers_up.sum()),
    amount("numbers_down", "numbers received by clients", "numbers", lambda trace: trace.numbers_down.sum()),
    amount("numbers_moved", "numbers moved", "numbers", numbers_moved),
    amount("numbers_per_step", "numbers moved per step", "", lambda trace: numbers_moved(trace) / len(trace.choices)),
    amount(
        "numbers_per_client",
        "numbers moved per client",
        "",
        lambda trace: numbers_moved(trace) / len(trace.client_ids),
    ),
    amount("bytes_up", "bytes sent by clients", "bytes", lambda trace: trace.numbers_up.sum() * BYTES_PER_NUMBER),
    amount(
        "bytes_down", "bytes received by clients", "bytes", lambda trace: trace.numbers_down.sum() * BYTES_PER_NUMBER
    ),
    amount("bytes_moved", "bytes moved", "bytes", lambda trace: numbers_moved(trace) * BYTES_PER_NUMBER),
    amount("needed_up", "needed uploads", "transfers", lambda trace: trace.needed_up.sum()),
    amount("needed_down", "needed downloads", "transfers", lambda trace: trace.needed_down.sum()),
    amount("needed", "needed transfers", "transfers", lambda trace: trace.needed),
    amount("needed_numbers", "numbers in needed transfers", "numbers", needed_numbers),
    Metric(
        "needed_per_decision",
        "needed communication per decision",
        "lower",
        needed_per_decision,
        unit="full messages",
        scale="log1p",
    ),
    Metric(
        "am_unsettled",
        "steps at which alternating minimisation had not converged",
        "lower",
        lambda trace, stream: float(trace.am_unsettled),
        unit="steps",
    ),
    Metric("microseconds_per_step", "time per step", "lower", unit="µs"),
    Metric("kernel_seconds", "running time", "lower", unit="s"),
    Metric("cpu_seconds", "CPU time", "lower", unit="s"),
)


def metric(name: str) -> Metric:
    """Return the metric of this name; for a name that is not declared, one without a direction."""
    declared = (entry for entry in METRICS if entry.name == name)
    return next(declared, Metric(name, name.replace("_", " "), "neither"))


def metric_names() -> tuple[str, ...]:
    """Return the names of all metrics that a record may have."""
    return tuple(entry.name for entry in METRICS)


def curve_names() -> tuple[str, ...]:
    """Return the names of the curves that a run may have."""
    return tuple(entry.curve_name for entry in METRICS if entry.curve is not None)


def metric_values(trace: "Trace", stream: "EventStream", clock: Mapping[str, float]) -> dict[str, float]:
    """Return the finite values of all metrics of a run; `clock` has the measured times."""
    values = {entry.name: entry.of(trace, stream) if entry.of else clock.get(entry.name, math.nan) for entry in METRICS}
    return {name: value for name, value in values.items() if math.isfinite(value)}


def curves_of(trace: "Trace", source: str) -> "dict[str, NDArray[Any]]":
    """Return the contribution of each step, by the name of the curve, for a stream of this source."""
    goal = objective([source])
    recorded = (entry for entry in METRICS if not entry.curve_replaces or entry == goal)
    return {entry.curve_name: entry.curve(trace) for entry in recorded if entry.curve is not None}


def curves_to_show(recorded: Collection[str]) -> tuple[str, ...]:
    """Return which of the recorded curves to show: runs that are judged by regret do not show reward, too."""
    shown = [entry for entry in METRICS if entry.curve is not None and entry.curve_name in recorded]
    replaced = {entry.curve_replaces for entry in shown}
    return tuple(entry.curve_name for entry in shown if entry.name not in replaced)


def objective(sources: Iterable[str]) -> Metric:
    """Return the metric by which runs on these streams are judged; it is decided only here.

    It is regret if all streams are simulated, because it is then exact, and otherwise normalised reward.

    Args:
        sources: the sources of the streams, the values of the tag `fedbandit.source`.
    """
    return metric("regret" if {*sources} == {SIMULATED} else "normalised_reward")
