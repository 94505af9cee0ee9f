"""Describe experiments, run them, record every run."""

from algorithms import Trace
from benchmark.replay import replay
from data_pipelines import EventStream

__all__ = ["EventStream", "Trace", "replay"]
