"""A communication budget as a user writes it: `10/client`, `5000` transfers in total, or `1MB` in total."""

import math
import re
from dataclasses import dataclass
from typing import Any

from benchmark.metrics import BYTES_PER_NUMBER
from benchmark.statistics.budgets import full_transfer

MAX_AMOUNT = 1e15
UNITS = {"b": 1.0, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12}
PATTERN = re.compile(r"\s*([-+]?[0-9.,_]*[0-9][0-9.,_]*(?:e[-+]?[0-9]+)?)\s*(/\s*client|[kmgt]?b)?\s*", re.IGNORECASE)
EXAMPLES = "10/client (transfers per client), 5000 (transfers in total) or 1MB (bytes in total)"


@dataclass(frozen=True)
class Budget:
    """An upper limit of communication: an amount in `transfers/client`, `transfers` or `bytes`.

    A transfer is a full {V, b}: d (d + 1) / 2 + d numbers of 8 bytes, 350 numbers for d = 25.
    """

    amount: float
    unit: str = "transfers/client"

    def per_client(self, clients: int, dimension: int) -> float:
        """Return the full transfers per client that the budget allows."""
        if self.unit == "transfers/client":
            return self.amount
        if self.unit == "transfers":
            return self.amount / clients
        return self.amount / (BYTES_PER_NUMBER * full_transfer(dimension)) / clients

    def __str__(self) -> str:
        """Return the budget in words."""
        if math.isinf(self.amount):
            return "unlimited communication"
        noun = "transfer" if self.amount == 1 else "transfers"
        return {
            "transfers/client": f"{self.amount:,g} {noun} per client",
            "transfers": f"{self.amount:,g} {noun} in total",
            "bytes": f"{_bytes_text(self.amount)} in total",
        }[self.unit]


UNLIMITED = Budget(math.inf)


def as_budget(value: Any) -> Budget:
    """Return a budget from a text, from a number of transfers in total, or from None for no limit."""
    if isinstance(value, Budget):
        return value
    return UNLIMITED if value is None else parse_budget(str(value))


def parse_budget(text: str) -> Budget:
    """Read `10/client`, `5000` or `1MB`."""
    match = PATTERN.fullmatch(text) if len(text) <= 100 else None
    if match is None:
        raise ValueError(f"budget must be {EXAMPLES}, got {text[:100]!r}")
    amount = _amount(match[1], text)
    unit = (match[2] or "").lower().replace(" ", "")
    if not amount > 0:
        raise ValueError(
            f"budget must be above 0, got {text!r}; the result without communication is part of every answer"
        )
    amount *= UNITS.get(unit, 1.0)
    if amount > MAX_AMOUNT:
        raise ValueError(f"budget must be at most {MAX_AMOUNT:g}, got {text!r}; for no limit, leave the budget out")
    if unit == "/client":
        return Budget(amount)
    return Budget(amount, "bytes" if unit else "transfers")


def _amount(number: str, text: str) -> float:
    """Read a number, with `,` or `_` between groups of three digits only."""
    plain = re.sub(r"(?<=\d)[,_](?=\d{3}(?!\d))", "", number)
    try:
        return float(plain)
    except ValueError:
        raise ValueError(f"budget must be {EXAMPLES}, got {text[:100]!r}") from None


def _bytes_text(amount: float) -> str:
    unit, size = next(((unit, size) for unit, size in reversed(UNITS.items()) if amount >= size), ("b", 1.0))
    return f"{amount / size:g} {unit.upper()}"
