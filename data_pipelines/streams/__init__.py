"""Streams from prepared data and simulations, each part drawn by its own generator of random numbers."""

import zlib
from typing import Any

import numpy as np

from data_pipelines.event_stream import EventStream


def generator_for(purpose: str, seed: int) -> np.random.Generator:
    """Return the generator of one part of a stream, such as its order; generators of other parts are independent."""
    key = zlib.crc32(purpose.encode())
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(key,))))


def generators(*purposes: str, seed: int, are_separate: bool) -> list[np.random.Generator]:
    """Return the generators of the parts of a stream: separate ones where a later option is used, else one for all."""
    if are_separate:
        return [generator_for(purpose, seed) for purpose in purposes]
    return [np.random.Generator(np.random.PCG64(seed))] * len(purposes)


def make_stream(**fields: Any) -> EventStream:
    """Return a stream of new arrays, which become read-only instead of being copied."""
    for value in fields.values():
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
    return EventStream(**fields)
