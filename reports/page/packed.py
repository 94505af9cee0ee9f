"""Large parts of the page, compressed inside it and unpacked by the browser: Plotly, the plots, and folded sections."""

import gzip
import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

DIGITS = 6
"""Significant digits of numbers in plots; texts that readers see are made before."""


def packed(text: str) -> str:
    """Return a text as gzip in base64; the same text gives the same result."""
    return b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()


def packed_json(value: Any) -> str:
    """Return a value as compressed JSON, without NaN, its numbers rounded."""
    return packed(json.dumps(_rounded(value), allow_nan=False, ensure_ascii=False, separators=(",", ":")))


def plotly_script() -> str:
    """Return Plotly's JavaScript from its Python package."""
    return files("plotly").joinpath("package_data", "plotly.min.js").read_text(encoding="utf-8")


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < 1e15 else float(f"{value:.{DIGITS}g}")
    if isinstance(value, Mapping):
        return {name: _rounded(each) for name, each in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_rounded(each) for each in value]
    return value
