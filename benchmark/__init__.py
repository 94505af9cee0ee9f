"""Describe experiments, run them, record every run."""

from benchmark import import_order

import_order.put_ours_first()  # before the first import of another of our packages

from importlib import import_module  # noqa: E402
from typing import TYPE_CHECKING, Any  # noqa: E402

from benchmark.records.tracking import switch_off_telemetry  # noqa: E402

if TYPE_CHECKING:
    from benchmark.api import (
        Best,
        Budget,
        EventStream,
        Recommendation,
        Results,
        Trace,
        compare,
        load,
        recommend,
        replay,
        results,
        simulate,
    )

# The functions `recommend` and `results` have the names of packages; as attributes, the functions are found.
# A package is set as an attribute once, when it is first imported, which is here.
for _name in ("recommend", "results"):
    import_module(f"{__name__}.{_name}")
    del globals()[_name]

switch_off_telemetry()  # here, because every process of ours imports this package before MLflow

__all__ = [
    "Best",
    "Budget",
    "EventStream",
    "Recommendation",
    "Results",
    "Trace",
    "compare",
    "load",
    "recommend",
    "replay",
    "results",
    "simulate",
]


def __getattr__(name: str) -> Any:
    """Import the public interface on first use, so that commands start quickly."""
    if name in __all__:
        return getattr(import_module("benchmark.api"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
