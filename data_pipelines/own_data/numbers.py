"""Numbers with a decimal point or a decimal comma."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

WITH_COMMA = re.compile(r"\s*[+-]?\d+,(\d+)\s*")
DECIMAL_MARKS = (".", ",")


@dataclass(frozen=True)
class Numbers:
    """The numbers of distinct texts, NaN where a text is not a number, and the decimal mark."""

    values: NDArray[np.float64]
    decimal: str


class AmbiguousNumbersError(ValueError):
    """Raised for numbers such as 1,250, whose comma may be a decimal mark or separate thousands."""

    def __init__(self, example: str) -> None:
        super().__init__(
            f"numbers such as {example.strip()[:40]!r} may have a decimal comma or separated thousands; "
            "give --decimal , or write them without separators"
        )


def parse_numbers(texts: Sequence[str], decimal: str | None = None) -> Numbers:
    """Parse texts with the given decimal mark, or else with the one detected in the texts."""
    decimal = decimal or detect_decimal(texts)
    plain = [text.replace(",", ".") if decimal == "," and "." not in text else text for text in texts]
    return Numbers(np.array([_number(text) for text in plain], dtype=np.float64), decimal)


def detect_decimal(texts: Sequence[str]) -> str:
    """Return a comma if some texts have one as decimal mark, else a point."""
    fractions = [(text, match[1]) for text in texts if "," in text and (match := WITH_COMMA.fullmatch(text))]
    if not fractions:
        return "."
    if all(len(fraction) == 3 for _, fraction in fractions):
        raise AmbiguousNumbersError(fractions[0][0])
    return ","


def _number(text: str) -> float:
    """Return a text as a number; Python's digit groups (1_000) are not accepted."""
    try:
        return float("nan") if "_" in text else float(text)
    except ValueError:
        return float("nan")
