"""Pictures that are small enough for the repository."""

import io
from pathlib import Path

from PIL import Image

WIDTH, COLOURS = 1100, 255


def small(picture: Path) -> bytes:
    """Return a smaller picture with fewer colours, which loads quickly."""
    with Image.open(picture) as image:
        shape = (WIDTH, round(image.height * WIDTH / image.width))
        reduced = (
            image.convert("RGB")
            .resize(shape, Image.Resampling.LANCZOS)
            .quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
        )
    buffer = io.BytesIO()
    reduced.save(buffer, "PNG", optimize=True)
    return buffer.getvalue()
