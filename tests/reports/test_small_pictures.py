"""Pictures of the documentation are small, and their colours are those of their legends."""

import io
from pathlib import Path

from PIL import Image, ImageDraw

from tests.tools.small_pictures import COLOURS, MAX_WIDTH, small

PALE = ("#ffffff", "#e5e7eb", "#e3f2ec", "#9fd8c4", "#d9cfea", "#dceaf5", "#fdf1dd")


def test_a_small_picture_keeps_the_colours_of_its_areas(tmp_path: Path):
    image = Image.new("RGB", (2400, 1400), "white")
    draw = ImageDraw.Draw(image)
    for grey in range(0, 2400, 4):  # lines of many colours compete for the palette
        draw.line([(grey, 0), (grey, 600)], fill=(grey % 256, (grey * 7) % 256, (grey * 13) % 256), width=2)
    for number, colour in enumerate(PALE):
        draw.rectangle([(number * 300, 700), (number * 300 + 299, 1399)], fill=colour)
    image.save(tmp_path / "picture.png")
    with Image.open(io.BytesIO(small(tmp_path / "picture.png"))) as reduced:
        assert reduced.width == MAX_WIDTH
        assert len(reduced.getcolors() or []) <= COLOURS
        share = MAX_WIDTH / 2400
        pixels = reduced.convert("RGB")
        drawn = [pixels.getpixel((round((number * 300 + 150) * share), 480)) for number in range(len(PALE))]
    assert ["#{:02x}{:02x}{:02x}".format(*pixel) for pixel in drawn] == list(PALE)
