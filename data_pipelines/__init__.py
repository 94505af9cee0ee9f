"""From an archive, or a generator, to a prepared, fingerprinted `EventStream`."""

from data_pipelines.event_stream import EventStream
from data_pipelines.simulated import simulate
from data_pipelines.streams import load

__all__ = ["EventStream", "load", "simulate"]
