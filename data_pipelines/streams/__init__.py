"""Streams from prepared data and simulations, each part drawn by its own generator of random numbers."""

import zlib

import numpy as np


def generator_for(purpose: str, seed: int) -> np.random.Generator:
    """Return the generator of one part of a stream, such as its order; generators of other parts are independent."""
    key = zlib.crc32(purpose.encode())
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(key,))))
