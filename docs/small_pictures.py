"""Pictures small enough to be tracked."""

import io
from pathlib import Path

from PIL import Image

WIDTH, COLOURS = 1100, 255


def small(picture: Path) -> bytes:
    """Return a picture with fewer dots and colours: pages are tracked, and load over slow lines."""
    with Image.open(picture) as image:
        shape = (WIDTH, round(image.height * WIDTH / image.width))
        less = (
            image.convert("RGB")
            .resize(shape, Image.Resampling.LANCZOS)
            .quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
        )
    buffer = io.BytesIO()
    less.save(buffer, "PNG", optimize=True)
    return buffer.getvalue()
