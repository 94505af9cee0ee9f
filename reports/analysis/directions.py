"""Tests of the directions that the paper states: one function per kind of test in paper.toml."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmark.metrics import metric as declared_metric
from benchmark.statistics.budgets import Front, at_equal_regret
from benchmark.statistics.intervals import kendall_tau, mean_interval
from benchmark.statistics.verdicts import ClaimVerdict
from data_pipelines.prepare.prepared import Prepared
from reports.analysis.users import (
    ASSIGNMENTS,
    distances,
    distances_by_chance,
    group_totals,
    item_features,
    mean_features,
)
from reports.labels import Methods
from reports.read.results import Results
from reports.write.table import cell_text, interval_text


@dataclass(frozen=True)
class Evidence:
    """The result of a test: our value as text, the number of seeds, and the method in words.

    `values` has one number per seed, above zero where the runs agree with the paper: all directions are judged together
    by these. A test that does not vary over seeds has its `verdict` instead. `why_not` says why there is neither.
    """

    ours: str = ""
    method: str = ""
    values: tuple[float, ...] = ()
    verdict: ClaimVerdict | None = None
    why_not: str = ""

    @property
    def seeds(self) -> int:
        """The number of seeds with a value."""
        return len(self.values)


def evidence(values: Sequence[float], sign: int, before: str, method: str, bound: float = math.inf) -> Evidence:
    """Return the evidence of one number per seed; `sign` is the side of zero that the paper states.

    No value can exceed `bound` on either side, so the interval ends there.
    """
    numbers = [value for value in values if not math.isnan(value)]
    if not numbers:
        return Evidence(why_not="the metric does not vary")
    ours = before + interval_text(*(min(max(end, -bound), bound) for end in mean_interval(numbers)))
    return Evidence(ours, method, tuple(sign * value for value in numbers))


def group_losses(direction: Mapping[str, Any], runs: pd.DataFrame, results: Results) -> Evidence:
    """The share of reward lost by the less active groups minus that lost by the most active, for each seed."""
    totals = group_totals(results, str(runs["stream"].iloc[0]), runs)
    totals = totals[totals["algorithm"] == direction["algorithm"]]
    if totals.empty:
        return Evidence(why_not="the data set used by these runs is not available")
    losses = []
    for _, seed_totals in totals.groupby("seed"):
        shares = [
            1
            - _reward(seed_totals, direction["to"], direction[users])
            / _reward(seed_totals, direction["from"], direction[users])
            for users in ("less_active", "most_active")
        ]
        if all(math.isfinite(share) for share in shares):
            losses.append(shares)
    if not losses:
        return Evidence(why_not="not all of the thresholds were run")
    less_active_loss, most_active_loss = np.mean(losses, axis=0)
    ours = f"{losses_text(less_active_loss, most_active_loss)}: difference "
    method = "share of reward lost by the less active groups minus that lost by the most active"
    return evidence([loss[0] - loss[1] for loss in losses], 1, ours, method)


def losses_text(first: float, second: float) -> str:
    """Write two shares of reward that were lost; a negative one was gained."""
    verbs = ["gained" if share < 0 else "lost" for share in (first, second)]
    other_verb = "" if verbs[0] == verbs[1] else f"{verbs[1]} "
    return f"{verbs[0]} {abs(first):.1%} and {other_verb}{abs(second):.1%}"


def nearer_to_centre(direction: Mapping[str, Any], runs: pd.DataFrame, results: Results) -> Evidence:
    """The mean distance from the centre of the embedding, of the other users minus that of the most active.

    The mean of many items is near the centre for any user. So the difference counts only if it is outside the range
    of differences for random assignments of the same items to the users, with the same number of items per user.
    """
    dataset = str(runs["dataset"].iloc[0])
    prepared = results.prepared(dataset)
    if dataset not in results.centre and prepared is None:
        return Evidence(why_not="the data set used by these runs is not available")
    if dataset not in results.centre:
        assert prepared is not None
        results.centre[dataset] = _difference(prepared, direction["most_active"], results)
    if not results.centre[dataset]:
        return Evidence(why_not="all users, or none, belong to the most active groups")
    ours, mean, low_by_chance, high_by_chance = results.centre[dataset]
    at_random = interval_text(mean, low_by_chance, high_by_chance)
    method = (
        "mean distance from the centre, others minus most active; random: mean and 95 % range of "
        f"{ASSIGNMENTS} random assignments of items to users"
    )
    text = f"difference {cell_text(ours)}; random assignments: {at_random}"
    if low_by_chance <= ours <= high_by_chance:
        why = "random assignments of items to users produce equally large differences"
        return Evidence(text, method, verdict=ClaimVerdict.UNDECIDED, why_not=why)
    verdict = ClaimVerdict.REPRODUCED if ours > high_by_chance else ClaimVerdict.OPPOSITE
    return Evidence(text, method, verdict=verdict)


def _difference(prepared: Prepared, most_active: Sequence[int], results: Results) -> list[float]:
    """Return our difference, and its mean and 95 % range by chance; empty if the users are all of one kind."""
    is_most_active = (prepared.activity >= most_active[0]) & (prepared.activity < most_active[1])
    if not is_most_active.any() or is_most_active.all():
        return []

    def difference(of_users: NDArray[np.float64]) -> float:
        return float(of_users[~is_most_active].mean() - of_users[is_most_active].mean())

    by_chance = [difference(each) for each in distances_by_chance(prepared, results)]
    low, high = np.quantile(by_chance, [0.025, 0.975])
    ours = difference(distances(mean_features(prepared, item_features(prepared))[0]))
    return [ours, float(np.mean(by_chance)), float(low), float(high)]


def _reward(totals: pd.DataFrame, threshold: float, activity: Sequence[int]) -> float:
    in_range = (totals["least"] >= activity[0]) & (totals["least"] < activity[1])
    rewards = totals[in_range & (totals["threshold"] == float(threshold))]["reward"]
    return float(rewards.sum()) if len(rewards) and rewards.sum() else math.nan


FREQUENT = "frequent"
"""As a threshold: the lowest γ above 1, or the lowest D, in the runs."""


ABOUT_DATA = ("nearer_to_centre", "not_testable")
"""Tests of claims about the data: no setting of a method changes their result."""


def check_direction(claim: Mapping[str, Any], runs: pd.DataFrame, results: Results) -> Evidence:
    """Test one direction of paper.toml on the runs of its experiment on one stream."""
    if runs.empty:
        return Evidence(why_not="no finished run")
    if claim["test"] == "not_testable":
        return Evidence(verdict=ClaimVerdict.NOT_CHECKABLE, why_not=str(claim["why"]))
    return TESTS[str(claim["test"])](claim, runs, results)


def trend(direction: Mapping[str, Any], runs: pd.DataFrame, results: Results) -> Evidence:
    """Kendall's τ between threshold (or d_g) and a metric, for each seed; also the difference of the end points."""
    along, metric = direction["along"], direction["metric"]
    chosen = _along(direction, runs)
    points = chosen.groupby("seed")[along].nunique()
    if chosen.empty or points.max() < 3:
        return Evidence(why_not="fewer than three settings were run")
    values = [kendall_tau(part[along], part[metric]) for _, part in chosen.groupby("seed")]
    words = {"threshold": "the threshold", "global_dim": "d_g"}[along]
    method = f"Kendall's τ of {declared_metric(metric).short_name} with {words}, {int(points.max())} settings"
    found = evidence(values, direction["sign"], "τ = ", method, bound=1)
    return (
        replace(found, ours=f"{found.ours}; {_end_points(direction, chosen, results.methods)}")
        if found.values
        else found
    )


def _end_points(direction: Mapping[str, Any], runs: pd.DataFrame, methods: Methods) -> str:
    """Return the difference of a metric between the lowest and the highest threshold (or d_g), in words."""
    along, metric = direction["along"], direction["metric"]
    ends = runs[along].min(), runs[along].max()
    first, last = (runs[runs[along] == end].set_index("seed")[metric] for end in ends)
    differences = (last - first).dropna()
    first_text, last_text = (
        methods.front_text(direction["algorithm"], end) if along == "threshold" else f"d_g={end:g}" for end in ends
    )
    return f"from {first_text} to {last_text} {interval_text(*mean_interval(differences))}"


def _along(direction: Mapping[str, Any], runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs whose trend is tested."""
    along = direction["along"]
    low, high = direction.get("between", (-math.inf, math.inf))
    chosen = _of_method(direction, runs)
    chosen = chosen[chosen[along].notna()]
    between: pd.DataFrame = chosen[(chosen[along] >= low * (1 - 1e-9)) & (chosen[along] <= high * (1 + 1e-9))]
    return between


def _of_method(setting: Mapping[str, Any], runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs of a method, with the parameters that are stated if an experiment has variants of it."""
    of_method = runs[runs["algorithm"] == setting["algorithm"]]
    if "parameters" in setting:
        stated = setting["parameters"].items()
        matches = [stated <= configuration.items() for configuration in of_method["configuration"]]
        is_chosen = pd.Series(matches, of_method.index, dtype=bool)
    else:
        is_chosen = of_method["variant"] == ""
    chosen: pd.DataFrame = of_method[is_chosen]
    return chosen


def equal_regret(direction: Mapping[str, Any], runs: pd.DataFrame, results: Results) -> Evidence:
    """C_T of one method over C_T of another at a regret of a share `above` the least, for each common seed."""
    less, more = direction["less"], direction["more"]
    first, second = paired_fronts(runs, less, more)
    if not first:
        return Evidence(why_not="the two methods have no seed in common")
    (level,) = at_equal_regret(first, second, [direction["above"]])
    if np.isnan(level.log_ratios).all():
        return Evidence(
            why_not="one of the two methods does not reach this regret, or reaches it without communication"
        )
    names = f"C_T of {results.methods.label(less)} over C_T of {results.methods.label(more)}"
    found = evidence(
        (-level.log_ratios).tolist(), 1, "", f"{names}, interpolated between undominated settings; geometric mean"
    )
    return replace(found, ours=f"ratio {interval_text(*level.ratio())}")


def paired_fronts(runs: pd.DataFrame, one: str, other: str) -> tuple[list[Front], list[Front]]:
    """Return communication and regret of the settings of two methods, one front per common seed."""
    plain = runs[runs["variant"] == ""]
    first, second = (_fronts(plain[plain["algorithm"] == name]) for name in (one, other))
    common = sorted(first.keys() & second.keys())
    return [first[seed] for seed in common], [second[seed] for seed in common]


def _fronts(runs: pd.DataFrame) -> dict[int, Front]:
    """Return communication and regret of the settings of a method, by seed."""
    columns = runs[["seed", "communication", "regret"]]
    parts = ((seed, part.to_numpy().T) for seed, part in columns.groupby("seed"))
    return {int(str(seed)): (values[1], values[2]) for seed, values in parts}


def contrast(direction: Mapping[str, Any], runs: pd.DataFrame, results: Results) -> Evidence:
    """Normalised reward of one setting minus that of another, for each common seed."""
    methods = results.methods
    sides = [_setting(runs, direction[side], methods) for side in ("better", "worse")]
    for name, side in zip(("better", "worse"), sides, strict=True):
        if side.empty:
            algorithm, threshold = direction[name]["algorithm"], direction[name]["threshold"]
            return Evidence(why_not=f"no run of {methods.label(algorithm)} at {threshold}")
    better, worse = (side.set_index("seed")["normalised_reward"] for side in sides)
    common = sorted(set(better.index) & set(worse.index))
    if not common:
        return Evidence(why_not="the two settings have no seed in common")
    differences = [float(better[seed] - worse[seed]) for seed in common]
    settings = [(str(side["algorithm"].iloc[0]), float(side["threshold"].iloc[0])) for side in sides]
    names = [f"{methods.label(name)} at {methods.front_text(name, threshold)}" for name, threshold in settings]
    means = f"{cell_text(float(better[common].mean()))} and {cell_text(float(worse[common].mean()))}"
    return evidence(differences, 1, f"{means}: difference ", f"normalised reward of {names[0]} minus {names[1]}")


TESTS: dict[str, Callable[[Mapping[str, Any], pd.DataFrame, Results], Evidence]] = {
    "trend": trend,
    "equal_regret": equal_regret,
    "contrast": contrast,
    "group_losses": group_losses,
    "nearer_to_centre": nearer_to_centre,
}


def used_settings(direction: Mapping[str, Any], settings: pd.DataFrame, methods: Methods) -> pd.DataFrame:
    """Return those rows of a table of settings whose runs a direction compares; for tests on real data."""
    match direction["test"]:
        case "trend":
            return _along(direction, settings)
        case "contrast":
            return pd.concat([_setting(settings, direction[side], methods) for side in ("better", "worse")])
        case "group_losses":
            is_used = settings["threshold"].isin([float(direction[end]) for end in ("from", "to")])
            used: pd.DataFrame = settings[is_used & (settings["algorithm"] == direction["algorithm"])]
            return used
    raise ValueError(f"the runs of {direction['test']} are not known")


def _setting(runs: pd.DataFrame, setting: Mapping[str, Any], methods: Methods) -> pd.DataFrame:
    runs = _of_method(setting, runs)
    if setting["threshold"] == FREQUENT:
        candidates = runs[runs["threshold"] > min(methods.info(setting["algorithm"]).ends)]
        lowest: pd.DataFrame = candidates[candidates["threshold"] == candidates["threshold"].min()]
        return lowest
    exact: pd.DataFrame = runs[runs["threshold"] == float(setting["threshold"])]
    return exact
