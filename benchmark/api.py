"""The public Python interface: the names that `from benchmark import …` provides."""

from algorithms.trace import Trace
from benchmark.execution.replay import replay
from data_pipelines.event_stream import EventStream

__all__ = ["EventStream", "Trace", "replay"]
