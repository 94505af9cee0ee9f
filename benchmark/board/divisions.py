"""Variants of a board: the quick one, and the division with the paper's fixed values."""

from collections.abc import Sequence

from benchmark.board.entries import board_filters
from benchmark.plan.method_names import MethodFilter, method_info
from benchmark.protocol import BenchmarkProtocol

QUICK_CONFIGURATIONS = 16
QUICK_SEEDS = tuple(range(3))
NOT_THE_PROTOCOL = "NOT THE PROTOCOL: fewer seeds and configurations, no verdicts"


def quick(protocol: BenchmarkProtocol) -> BenchmarkProtocol:
    """Return a protocol with two choosing seeds: just enough to see that everything works."""
    first = protocol.seeds.choosing.first
    last = first + 1
    content = protocol.model_dump()
    content["seeds"]["choosing"] = {"first": first, "last": last}
    content["passes"] = [
        {"seeds": {"first": first, "last": first}, "keep": 2},
        {"seeds": {"first": last, "last": last}, "keep": 1},
    ]
    return BenchmarkProtocol.model_validate(content)


def with_fixed(
    methods: Sequence[MethodFilter], protocol: BenchmarkProtocol, *, is_simulated: bool
) -> list[MethodFilter]:
    """Add each method once more, with the paper's α and λ instead of tuned ones."""
    fixed = protocol.fixed
    values = {
        "alpha": (fixed.simulated_alpha if is_simulated else fixed.alpha,),
        "ridge": (fixed.simulated_ridge if is_simulated else fixed.ridge,),
    }
    rows = board_filters(methods, protocol.comparison.reference)
    declared = {row.name: method_info(row.name) for row in rows if not row.values}
    tuned = [name for name, each in declared.items() if {*values} <= {*each.tuned, *each.tuning}]
    return [*rows, *(MethodFilter(name, values) for name in tuned)]
