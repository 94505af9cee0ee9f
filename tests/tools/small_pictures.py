"""Pictures that are small enough for the repository."""

import io
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

MAX_WIDTH, MAX_HEIGHT, COLOURS = 1100, 1300, 48
FLAT_SHARE = 1 / 2
"""The share of the colours that are the most frequent ones, unchanged: a legend must have the colours of its areas."""


def small(picture: Path | io.BytesIO, colours: int = COLOURS) -> bytes:
    """Return a smaller picture with fewer colours, which loads quickly; areas of one colour keep it."""
    with Image.open(picture) as image:
        scale = min(MAX_WIDTH / image.width, MAX_HEIGHT / image.height)
        shape = (round(image.width * scale), round(image.height * scale))
        resized = image.convert("RGB").resize(shape, Image.Resampling.HAMMING)  # without new colours around text
    pixels = np.asarray(resized).reshape(-1, 3)
    distinct, numbers, counts = np.unique(pixels, axis=0, return_inverse=True, return_counts=True)
    flat = distinct[np.argsort(-counts, kind="stable")[: round(colours * FLAT_SHARE)]]
    others = resized.quantize(colours - len(flat), Image.Quantize.MAXCOVERAGE).getpalette() or []
    palette = np.vstack([flat, np.array(others, dtype=np.uint8).reshape(-1, 3)])[:colours]
    reduced = Image.fromarray(_nearest(distinct, palette)[numbers.reshape(shape[::-1])])
    reduced.putpalette(palette.tobytes())
    buffer = io.BytesIO()
    reduced.save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


def _nearest(colours: NDArray[np.uint8], palette: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the numbers of the most similar colours of a palette; Pillow's own search is not exact."""
    distances = [((colours.astype(int) - colour) ** 2).sum(axis=1) for colour in palette.astype(int)]
    return np.argmin(distances, axis=0).astype(np.uint8)
