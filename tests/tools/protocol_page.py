"""The tables of docs/protocol.md: the measured effect of breaking a rule of the protocol."""

import pandas as pd

from benchmark.board.result import BoardResult
from benchmark.statistics.comparison import PRIMARY
from reports.analysis.board import choice_rows, ranked_entries
from reports.analysis.claims import DIRECTION, judged_claims
from reports.read.boards import by_protocol
from reports.read.context import Context
from reports.read.results import Results

SHARING = "Async-LinUCB earns more without communication (γ=∞) than with frequent communication"
"""The claim of the paper that depends on how negatives are drawn."""


def effect_of_choosing(results: Results, context: Context) -> pd.DataFrame:
    """Return, for each task, by how much the choosing mean of tuned rows exceeds their mean on the report seeds.

    Rows with fixed values are left out: nothing but their front was chosen.
    """
    rows = []
    for board in _boards(results):
        labels = [entry.label for entry in ranked_entries(board)]
        choices = choice_rows(board).drop_duplicates(["method", "configuration"])
        choices = choices[choices["method"].isin(labels)]
        luck = (choices["choosing"] - choices["reporting"]).dropna()
        rows.append(
            {
                "task": board.board.task.name,
                "choices": len(luck),
                "mean excess": luck.mean(),
                "largest excess": luck.max(),
                "choices with an excess": f"{int((luck > 0).sum())} of {len(luck)}",
            }
        )
    return pd.DataFrame(rows)


def effect_of_fixed_values(results: Results, context: Context) -> pd.DataFrame:
    """Return what each method earns with the paper's α and λ, less what it earns tuned, at the primary endpoint."""
    rows = []
    for board in _boards(results):
        for entry in board.contenders:
            row = board.difference(entry.name, entry.method, PRIMARY) if entry.fixed else None
            if row is not None:
                numbers = {
                    "difference": row["difference"],
                    "difference_low": row["low"],
                    "difference_high": row["high"],
                }
                names = {"task": board.board.task.name, "method": entry.label, "tuned": board.mean(entry.method)[0]}
                rows.append(names | {"fixed": board.mean(entry.name)[0]} | numbers | {"verdict": str(row["verdict"])})
    return pd.DataFrame(rows)


def effect_of_uniform_negatives(results: Results, context: Context) -> pd.DataFrame:
    """Return what no communication earns more than frequent communication, with uniform and with matched negatives."""
    pools = {"default": "uniform negatives", "matched": "negatives by popularity"}
    claims = [claim for claim in judged_claims(results, context) if claim.kind == DIRECTION]
    rows = [
        {"data": claim.data, "pools": pools[claim.variant], "γ=∞ minus γ=1.01": claim.ours, "seeds": claim.seeds}
        for claim in claims
        if claim.claim == SHARING and claim.variant in pools
    ]
    return pd.DataFrame(rows).drop_duplicates()


def _boards(results: Results) -> list[BoardResult]:
    return [board.result for board in by_protocol(results.boards)]
