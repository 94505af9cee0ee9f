"""Describe experiments, run them, record every run."""

from benchmark import import_order

import_order.put_ours_first()  # before the first import of another of our packages

import os  # noqa: E402
from importlib import import_module  # noqa: E402
from typing import TYPE_CHECKING, Any  # noqa: E402

from benchmark.records.tracking import TELEMETRY_OFF  # noqa: E402

if TYPE_CHECKING:
    from algorithms.trace import Trace as Trace
    from benchmark.execution.replay import replay as replay
    from benchmark.recommend.compare import compare as compare
    from benchmark.recommend.recommend import recommend as recommend
    from benchmark.recommend.recommendation import Recommendation as Recommendation
    from benchmark.results.budget import Budget as Budget
    from benchmark.results.results import Best as Best
    from benchmark.results.results import Results as Results
    from benchmark.results.stored import results as results
    from data_pipelines.event_stream import EventStream as EventStream
    from data_pipelines.streams.recorded import load as load
    from data_pipelines.streams.simulated import simulate as simulate

# The functions `recommend` and `results` have the names of packages; as attributes, the functions are found.
# A package is set as an attribute once, when it is first imported, which is here.
for _name in ("recommend", "results"):
    import_module(f"{__name__}.{_name}")
    del globals()[_name]

os.environ.update(TELEMETRY_OFF)  # here, because every process of ours imports this package before MLflow

PUBLIC = {
    "Best": "benchmark.results.results",
    "Budget": "benchmark.results.budget",
    "EventStream": "data_pipelines.event_stream",
    "Recommendation": "benchmark.recommend.recommendation",
    "Results": "benchmark.results.results",
    "Trace": "algorithms.trace",
    "compare": "benchmark.recommend.compare",
    "load": "data_pipelines.streams.recorded",
    "recommend": "benchmark.recommend.recommend",
    "replay": "benchmark.execution.replay",
    "results": "benchmark.results.stored",
    "simulate": "data_pipelines.streams.simulated",
}
"""The public names, each with the module that has it."""

__all__ = [*PUBLIC]


def __getattr__(name: str) -> Any:
    """Import a public name on first use, so that commands start quickly."""
    if name in PUBLIC:
        return getattr(import_module(PUBLIC[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
