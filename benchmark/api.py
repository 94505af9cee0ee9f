"""The public Python interface: the names that `from benchmark import …` provides."""

from algorithms.trace import Trace
from benchmark.execution.replay import replay
from benchmark.recommend.compare import compare
from benchmark.recommend.recommend import recommend
from benchmark.recommend.recommendation import Recommendation
from benchmark.results.budget import Budget
from benchmark.results.results import Best, Results
from benchmark.results.stored import results
from data_pipelines.event_stream import EventStream
from data_pipelines.streams.recorded import load
from data_pipelines.streams.simulated import simulate

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
