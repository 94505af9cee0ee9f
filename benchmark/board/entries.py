"""The rows of a board: methods, each with the configurations that it is tuned over."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from algorithms.hyperparameters import number_text
from algorithms.method import MethodInfo
from algorithms.registry import built_in_methods
from algorithms.stream import StreamOutline
from benchmark.plan.experiment import Grids, combinations, number_of_combinations, spread
from benchmark.plan.method_names import MethodFilter, is_measured, make_method, method_info
from benchmark.plan.runs import reason_to_skip
from benchmark.protocol import BenchmarkProtocol
from data_pipelines.support.messages import one_line

FRONT_WEIGHT = 2
"""A thinned grid keeps this many times as many values of the front as of another parameter."""


@dataclass(frozen=True)
class MethodRow:
    """A row of a board.

    Args:
        name: the method's name, with the values of a variant or those that the user fixed: `name[alpha=0.3]`.
        method: the method's name.
        label: its name for people.
        role: `contender`, `reference` or `baseline`.
        style: the number of its style.
        kind: what its clients share; empty if it does not say so.
        front: the parameter of its front; empty without one.
        symbol: how figures and tables write it.
        grids: the values of each parameter.
        configurations: the parameters of each configuration, by its name.
        fixed: the values that the user fixed, which make no variant; the row is then "not tuned", and not ranked.
        is_measured: whether the harness measures its communication; otherwise its class declares it.
        notes: remarks for readers of the row.
        problem: why it does not take part, in one line; empty if it does.
        is_verified: whether it may be ranked where only verified rows are, see `reports/read/boards.py`.
    """

    name: str
    method: str
    label: str
    role: str = "contender"
    style: int = 0
    kind: str = ""
    front: str = ""
    symbol: str = ""
    grids: Grids = field(default_factory=dict)
    configurations: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    fixed: Grids = field(default_factory=dict)
    is_measured: bool = True
    notes: tuple[str, ...] = ()
    problem: str = ""
    is_verified: bool = True

    @property
    def is_contender(self) -> bool:
        """Whether it is compared with the others, and not a reference line."""
        return self.role == "contender"

    @property
    def is_ranked(self) -> bool:
        """Whether it has a rank: a contender that is tuned and verified."""
        return self.is_contender and not self.fixed and self.is_verified


def board_filters(methods: Sequence[MethodFilter], reference: str) -> list[MethodFilter]:
    """Return the contenders: the named methods, or all built-in ones, the user's classes, and the reference method.

    All built-in methods are played with their variants, a named one without. A method with fixed values that are not a
    variant is a further row, beside the tuned one.
    """
    methods = [variants_of(algorithm.name).get(variant_suffix(algorithm), algorithm) for algorithm in methods]
    built_in = [name for name, info in built_in_methods().items() if info.role == "contender"]
    shown = {*built_in, *(algorithm.name for algorithm in reference_filters())}
    for algorithm in methods:
        if not algorithm.is_own and not algorithm.values and algorithm.name not in shown:
            raise ValueError(f"{algorithm.name} is a reference with a front, which a board does not show")
    has_all = all(algorithm.is_own for algorithm in methods)
    named = [algorithm.name for algorithm in methods if not variant_suffix(algorithm)]
    names = {reference, *(built_in if has_all else named)}
    rows = [
        row
        for name in built_in
        if name in names
        for row in (MethodFilter(name, {}), *(variants_of(name).values() if has_all else ()))
    ]
    others = [algorithm for algorithm in methods if algorithm.is_own or algorithm.values]
    return list({entry_name(algorithm): algorithm for algorithm in (*rows, *others)}.values())


def with_usual(methods: Sequence[MethodFilter]) -> list[MethodFilter]:
    """Return the usual contenders and the named methods: those of a quick board and of a recommendation."""
    names = [name for name, info in built_in_methods().items() if info.is_usual and info.role == "contender"]
    rows = (*(MethodFilter(name, {}) for name in names), *methods)
    return list({entry_name(row): row for row in rows}.values())


def others_text(names: Collection[str]) -> str:
    """Return a sentence on the contenders that are not among the names of methods; empty if there are none."""
    others = [name for name, info in built_in_methods().items() if info.role == "contender" and name not in names]
    return f"Other methods take part if they are named (--method): {', '.join(others)}." if others else ""


def variants_of(method: str) -> dict[str, MethodFilter]:
    """Return the variants that a method declares, by what they add to its label."""
    declared = method_info(method).variants.items()
    return {
        suffix: MethodFilter(method, {name: (value,) for name, value in values.items()}) for suffix, values in declared
    }


def variant_suffix(algorithm: MethodFilter) -> str:
    """Return what the variant with the values of a filter adds to its label; empty if the method declares none."""
    variants, texts = variants_of(algorithm.name).items(), _texts(algorithm.values)
    return next((suffix for suffix, variant in variants if _texts(variant.values) == texts), "")


def reference_filters(outline: StreamOutline | None = None) -> list[MethodFilter]:
    """Return the built-in baselines and references without a front, each drawn as one line and never ranked.

    Those that make no sense on the stream are left out.
    """
    methods = built_in_methods().items()
    names = [name for name, each in methods if each.role != "contender" and each.front is None]
    if outline is not None:
        names = [name for name in names if reason_to_skip(make_method(name, {}), outline) is None]
    return [MethodFilter(name, {}) for name in names]


def make_entry(
    algorithm: MethodFilter,
    protocol: BenchmarkProtocol,
    squared_norm: float,
    outline: Any = None,
    max_configurations: int | None = None,
) -> MethodRow:
    """Return a row with its configurations; a method that cannot take part has a problem instead.

    Args:
        algorithm: the method, and the values of a variant, or those that the user fixed.
        protocol: limits the number of configurations.
        squared_norm: the mean squared norm of the task's arms.
        outline: what is known about the stream: a method may decline it.
        max_configurations: fewer than the protocol's; the grid is thinned, and the row says so.
    """
    info, suffix = method_info(algorithm.name), variant_suffix(algorithm)
    values_label = info.label + (f" ({_values_text(algorithm.values)})" if algorithm.values else "")
    entry = MethodRow(
        entry_name(algorithm),
        algorithm.name,
        info.variant_label(suffix) if suffix else values_label,
        info.role,
        info.style,
        info.kind or "",
        info.parameter,
        info.symbol,
        fixed={} if suffix else dict(algorithm.values),
        is_measured=is_measured(algorithm.name),
    )
    declared = {**declared_grids(info, protocol, squared_norm), **algorithm.values}
    front = {info.front.parameter: spread(info.front.grid, protocol.tuning.front_values)} if info.front else {}
    grids = {**declared, **front, **algorithm.values}
    size, allowed = number_of_combinations(grids), protocol.tuning.max_configurations
    if max_configurations is None and size > allowed:
        return replace(entry, problem=f"must have at most {allowed:,} configurations, got {size:,}")
    thin = thinned(grids, info.parameter, max_configurations or allowed)
    configurations = {configuration_name(algorithm.name, values): values for values in combinations(thin)}
    try:
        made = [make_method(algorithm.name, values) for values in configurations.values()]
    except ValueError as error:
        return replace(entry, problem=one_line(str(error)))
    notes = (*_notes(entry, number_of_combinations(declared), len(configurations), info),)
    reasons = [reason for method in made if outline is not None and (reason := reason_to_skip(method, outline))]
    return replace(entry, grids=thin, configurations=configurations, notes=notes, problem=reasons[0] if reasons else "")


def declared_grids(info: MethodInfo, protocol: BenchmarkProtocol, squared_norm: float) -> dict[str, tuple[Any, ...]]:
    """Return the values of the front, of the parameters that the protocol tunes, and those that the method declares."""
    grids: dict[str, tuple[Any, ...]] = {}
    if info.front:
        grids[info.front.parameter] = info.front.grid
    protocol_values = {"alpha": protocol.tuning.alpha, "ridge": protocol.tuning.ridge_factors}
    for name, values in {**{name: protocol_values[name] for name in info.tuned}, **info.tuning}.items():
        grids[name] = tuple(scaled(value, squared_norm) for value in values) if name in info.scaled else tuple(values)
    return grids


def scaled(value: float, squared_norm: float) -> float:
    """Return a product without the noise of its last digits: it is part of run keys."""
    return float(f"{value * squared_norm:.10g}")


def thinned(grids: Grids, front: str, limit: int) -> dict[str, tuple[Any, ...]]:
    """Return grids with at most `limit` combinations: as many values of each as possible, evenly spread.

    The front keeps both ends. The same grids and limit always give the same values.
    """
    counts = {name: len(values) for name, values in grids.items()}
    while math.prod(counts.values()) > limit:
        several = [name for name, count in counts.items() if count > 1]
        largest = max(several, key=lambda name: (counts[name] / (FRONT_WEIGHT if name == front else 1), name != front))
        counts[largest] -= 1
    return {
        name: spread(values, counts[name]) if name == front else _inside(values, counts[name])
        for name, values in grids.items()
    }


def _inside(values: Sequence[Any], count: int) -> tuple[Any, ...]:
    """Return some of the values at equal distances, those nearest to the middle of each part."""
    return tuple(values[int((place + 0.5) * len(values) / count)] for place in range(count))


def configuration_name(method: str, values: Mapping[str, Any]) -> str:
    """Return a name as `--method` takes it: `name[gamma=5,alpha=0.3]`."""
    return f"{method}[{_values_text({name: (value,) for name, value in values.items()})}]" if values else method


def entry_name(algorithm: MethodFilter) -> str:
    """Return the name of a row: the method, with the values of a variant or those that the user fixed."""
    return f"{algorithm.name}[{_values_text(algorithm.values)}]" if algorithm.values else algorithm.name


def _texts(values: Mapping[str, Sequence[Any]]) -> dict[str, list[str]]:
    return {name: [number_text(value) for value in each] for name, each in values.items()}


def _values_text(values: Mapping[str, Sequence[Any]]) -> str:
    return ",".join(
        f"{name}={each[0] if len(each) == 1 else '[' + ','.join(each) + ']'}" for name, each in _texts(values).items()
    )


def _notes(entry: MethodRow, declared: int, played: int, info: MethodInfo) -> list[str]:
    notes = [f"not tuned: {_values_text(entry.fixed)} fixed"] if entry.fixed else []
    if entry.is_contender and info.front is None:
        notes.append("without a front: its communication cannot be chosen")
    if played < declared:
        notes.append(f"{played} of {declared} configurations")
    return notes if entry.is_measured else [*notes, "communication declared by the method, not measured"]


def with_fixed(
    methods: Sequence[MethodFilter], protocol: BenchmarkProtocol, *, is_simulated: bool
) -> list[MethodFilter]:
    """Add each of the paper's methods once more, with its α and λ instead of tuned ones."""
    fixed = protocol.fixed
    values = {
        "alpha": (fixed.simulated_alpha if is_simulated else fixed.alpha,),
        "ridge": (fixed.simulated_ridge if is_simulated else fixed.ridge,),
    }
    rows = board_filters(methods, protocol.comparison.reference)
    names = [row.name for row in rows if not row.values and row.name in fixed.methods]
    return [*rows, *(MethodFilter(name, values) for name in names)]
