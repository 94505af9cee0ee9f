"""The text of a page as a browser has it, with what is compressed in it."""

import gzip
import json
import re
from base64 import b64decode


def without_packed(text: str) -> str:
    """Return a page without what is compressed in it."""
    return re.sub(r'(<script type="application/gzip" id="\w+">)[^<]*', r"\1", text)


def unpacked(text: str, name: str) -> str:
    """Return what is compressed in a page under a name."""
    script = re.search(rf'<script type="application/gzip" id="{name}">([^<]*)</script>', text)
    assert script is not None
    return gzip.decompress(b64decode(script.group(1))).decode()


def whole_page(text: str) -> str:
    """Return a page with its folded sections in their places, and without plots."""
    html = without_packed(text)
    for name, part in json.loads(unpacked(text, "folded")).items():
        place = f'<div data-packed="{name}">'
        assert html.count(place) == 1, name
        html = html.replace(place, f"{place}{part}")
    return html
