"""Pictures that are small enough for the repository."""

import io
from pathlib import Path

from PIL import Image

MAX_WIDTH, MAX_HEIGHT, COLOURS = 1100, 1300, 64


def small(picture: Path, colours: int = COLOURS) -> bytes:
    """Return a smaller picture with fewer colours, which loads quickly."""
    with Image.open(picture) as image:
        scale = min(MAX_WIDTH / image.width, MAX_HEIGHT / image.height)
        shape = (round(image.width * scale), round(image.height * scale))
        reduced = (
            image.convert("RGB")
            .resize(shape, Image.Resampling.LANCZOS)
            .quantize(colours, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
        )
    buffer = io.BytesIO()
    reduced.save(buffer, "PNG", optimize=True)
    return buffer.getvalue()
