"""The public Python interface: the names that `from benchmark import …` provides."""

from algorithms.trace import Trace
from benchmark.answers.budget import Budget
from benchmark.answers.compare import compare
from benchmark.answers.recommend import recommend
from benchmark.answers.recommendation import Recommendation
from benchmark.answers.results import Best, Results
from benchmark.answers.stored import results
from benchmark.execution.replay import replay
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
