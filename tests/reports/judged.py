"""The rows of the paper's claims in tables of verdicts."""

from typing import Any

import pandas as pd

from reports.write.table import Table

ALONE = "Async-LinUCB earns more without communication (γ=∞) than with frequent communication"
OUR, THEIRS, MATCHED = "our preparation", "the paper's preparation", "popularity-matched pools"


def rows(table: Table, claim: str, **where: Any) -> pd.DataFrame:
    """Return the rows of claims with this text and these values; there must be some."""
    frame = table.frame[table.frame["claim"].str.contains(claim, regex=False)]
    for name, value in where.items():
        frame = frame[frame[name] == value]
    assert len(frame), claim
    return frame
