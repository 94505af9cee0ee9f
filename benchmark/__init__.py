"""Describe experiments, run them, record every run."""

from algorithms import Trace
from benchmark.replay import replay
from benchmark.telemetry import switch_off_telemetry
from data_pipelines import EventStream

switch_off_telemetry()  # here, as every process of ours, workers too, comes by before MLflow can be imported

__all__ = ["EventStream", "Trace", "replay"]
