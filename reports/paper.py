"""The paper's claims and numbers, read from paper.toml."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("paper.toml")


@cache
def paper() -> dict[str, Any]:
    """Return sizes, numbers, groups (Table 2) and directions."""
    return tomllib.loads(FILE.read_text(encoding="utf-8"))
