"""The paper's claims with ours: which hold on which data, every number, the chosen α, communication at equal regret."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from benchmark.protocol import load_protocol
from benchmark.results.frames import means
from benchmark.statistics.budgets import at_equal_regret
from benchmark.statistics.intervals import number_of_seeds
from benchmark.statistics.verdicts import (
    ClaimVerdict,
    count_verdicts,
)
from reports.analysis.claims import (
    COUNT,
    DIRECTION,
    NUMBER,
    STAND_IN,
    TABLE_2,
    TUNED,
    Judged,
    combined,
    judged_cells,
    judged_claims,
)
from reports.analysis.directions import paired_fronts
from reports.labels import Methods, dataset_label
from reports.paper import (
    EDGE,
    TunedSetting,
    choosing_seeds,
    grid_of,
    paper,
    tuned_experiment,
    tuned_settings,
    variant_labels,
)
from reports.published import how_to_decide, on_other_copies, published_verdict
from reports.read.results import Results
from reports.subjects import PAPER
from reports.write.table import NOT_DECIDED, NOT_RUN, Table, interval_columns

ORDER = 10
SUMMARIES = {
    NUMBER: "numbers that the text states",
    COUNT: "counts of the data",
    TABLE_2: "cells of appendix Table 2",
}
NAME, TITLE = "claims", "Which claims of the paper hold, and where"
NONE = "–"
ABOVE = "above the least regret"
SHORT_CAPTION = "α and λ are those of the paper. –: a claim about a simulation, or a variant without such data."
NOT_TUNED = f"The same with a tuned α: `fedbandit run {tuned_experiment()} --profile paper`."
TUNED_CAPTION = (
    "α tuned: for each stream, method and threshold, the α with the best mean normalised reward on "
    f"seeds that are not reported, λ as in the paper. {EDGE}: an α at the edge of the grid, beyond which a better one "
    "might lie. Trends have fewer thresholds there. Holm's correction is over all directions with a tuned α, and "
    "separately over all those at the paper's α. The paper's numbers are for its own α, so they have no such column."
)


def tables(results: Results) -> list[Table]:
    """Return the matrix of claims, all claims with ours, the chosen α, and communication at equal regret."""
    makers = (matrix_tables, list_tables, tuned_tables, equal_regret_tables)
    return [table for make_tables in makers for table in make_tables(results)]


def matrix_tables(results: Results) -> list[Table]:
    """Return the matrix, or one row that says that seeds are too few; none if no claim concerns these experiments."""
    frame = matrix(results)
    if frame.empty:
        return []
    claims, notes = judged_claims(results), results.labels(results.all_runs)
    caption = (
        "Each direction that the paper states, on the data as the authors prepared them, on our preparation and on "
        "pools whose negatives are as popular as the positives; α and λ are those of the paper. –: the claim is about "
        "a simulation, or the variant has no such data. Numbers, counts and the cells of Table 2 are summarised in "
        f"the last rows. {TUNED_CAPTION if of_kind(claims, TUNED) else NOT_TUNED}"
    )
    tuned = TUNED_CAPTION if of_kind(claims, TUNED) else NOT_TUNED
    short = " ".join(filter(None, (how_to_decide_all(results), on_other_copies(results.runs), SHORT_CAPTION, tuned)))
    return [Table(NAME, TITLE, caption, frame, notes, subject=PAPER, short_caption=short)]


def _cells(results: Results) -> list[list[Judged]]:
    """Return the claims of each cell of the matrix that has any."""
    return [part for columns in claims_by_column(results).values() for part in columns.values() if part]


def counted_sentence(results: Results) -> str:
    """Return how many directions, in all variants of the data, have which verdict here; empty without any."""
    cells = _cells(results)
    decided = [combined(claim.verdict for claim in part) for part in cells if not published(part)]
    if not any(map(is_decided, cells)):
        return ""
    count = len(cells) - len(decided)
    texts = [counts_text_of(decided), f"{count} {NOT_DECIDED} (the published verdicts are in grey)" * bool(count)]
    return f"Directions that the paper states, on up to three variants of the data: {'; '.join(filter(None, texts))}."


def how_to_decide_all(results: Results) -> str:
    """Return how to decide what is not decided here, but published."""
    open_cells = [part[0] for part in _cells(results) if published(part)]
    need = "Some need real data in place of the stand-ins: `fedbandit data --mirror DIR_OR_URL`."
    texts = [how_to_decide({str(claim.experiment) for claim in open_cells})]
    return " ".join([*texts, *([need] if any(claim.caveat == STAND_IN for claim in open_cells) else [])])


def is_decided(claims: Sequence[Judged]) -> bool:
    """Return whether runs here decide one of these claims, or had enough seeds to."""
    return any(claim.verdict != ClaimVerdict.NOT_CHECKABLE and not _lacks_seeds(claim) for claim in claims)


def published(claims: Sequence[Judged]) -> str:
    """Return the published verdict on claims that nothing here decides; empty if there is none."""
    first = claims[0]
    return "" if first.kind == TUNED or is_decided(claims) else published_verdict(*row_of(claims), first.variant)


def _published_text(claims: Sequence[Judged]) -> str:
    verdict, lacking = published(claims), [claim.seeds for claim in claims if _lacks_seeds(claim)]
    why = f"{NOT_DECIDED}, {number_of_seeds(lacking)}" if lacking else NOT_RUN
    return f"{why}; published: {verdict}" if verdict else ""


def row_of(claims: Sequence[Judged]) -> tuple[str, str]:
    """Return the place and the text of a row of the matrix; numbers, counts and cells of Table 2 have one row each."""
    first = claims[0]
    return (first.place, first.claim) if first.kind == DIRECTION else ("", SUMMARIES[first.kind])


def _lacks_seeds(claim: Judged) -> bool:
    return claim.verdict == ClaimVerdict.UNDECIDED and 0 < claim.seeds < load_protocol().paper.min_seeds


def claims_by_column(results: Results) -> dict[tuple[str, str], dict[str, list[Judged]]]:
    """Return the claims of each row of the matrix (place and text) by the label of a column.

    There is a column for each variant, and one for each with a tuned α if there are any.
    """
    claims = judged_claims(results)
    columns = {label: (DIRECTION, name) for name, label in variant_labels().items()}
    if of_kind(claims, TUNED):
        columns |= {f"{label}, α tuned": (TUNED, name) for name, label in variant_labels().items()}
    rows = dict.fromkeys((each.place, each.claim) for each in of_kind(claims, DIRECTION))
    return {
        row: {
            label: [each for each in claims if (each.place, each.claim, each.kind, each.variant) == (*row, *column)]
            for label, column in columns.items()
        }
        for row in rows
    }


def matrix(results: Results) -> pd.DataFrame:
    """Return the matrix: place, claim, and a column of verdicts for each variant; with a tuned α if there are any."""
    rows = [
        {"place": place, "claim": text, **{label: cell_text(claims) for label, claims in columns.items()}}
        for (place, text), columns in claims_by_column(results).items()
    ]
    everything = [*judged_claims(results), *judged_cells(results)]
    for kind, text in SUMMARIES.items():
        if members := of_kind(everything, kind):
            cells = {
                label: _summary([claim for claim in members if claim.variant == name])
                for name, label in variant_labels().items()
            }
            rows.append({"place": "", "claim": f"{len(members)} {text}", **cells})
    return pd.DataFrame(rows).fillna(NONE)


def _summary(claims: list[Judged]) -> str:
    return _published_text(claims) or counts_text(claims) if claims else NONE


def cell_text(claims: list[Judged]) -> str:
    """Return the verdict on one variant; for a claim about several levels, the verdicts that differ with the levels.

    With a tuned α, it has a mark if a chosen α is at the edge of its grid, or says what is missing.
    """
    if not claims:
        return NONE
    if text := _published_text(claims):
        return text
    first, verdict = claims[0], combined(claim.verdict for claim in claims)
    if first.kind == TUNED and verdict == ClaimVerdict.NOT_CHECKABLE and first.remark:
        return f"{verdict}: {first.remark}"
    if all(map(_lacks_seeds, claims)):
        seeds = number_of_seeds(claim.seeds for claim in claims)
        return f"{ClaimVerdict.UNDECIDED}: {seeds} ({load_protocol().paper.min_seeds} are needed)"
    kinds = dict.fromkeys(str(claim.verdict) for claim in claims)
    if len(kinds) == 1:
        return f"{verdict} {EDGE}" if first.is_at_edge else str(verdict)
    levels = (
        f"{kind} {', '.join(claim.at.partition(' ')[0] for claim in claims if claim.verdict == kind)}" for kind in kinds
    )
    return f"{verdict}: {'; '.join(levels)} {ABOVE}"


PLURALS = {
    DIRECTION: "Directions",
    TUNED: "Directions with a tuned α",
    NUMBER: "Numbers",
    COUNT: "Counts of the data",
    TABLE_2: "Cells of Table 2",
}


def list_tables(results: Results) -> list[Table]:
    """Return one table of directions, numbers, counts and Table 2; none if none concerns these experiments."""
    claims = [*judged_claims(results), *judged_cells(results)]
    if not claims:
        return []
    frame = pd.DataFrame([_claim_row(claim) for claim in claims])
    title = "All claims of the paper, with ours"
    return [Table("paper_against_ours", title, RULES, frame, results.labels(results.all_runs), subject=PAPER)]


LIMITS = load_protocol().paper
RULES = (
    f"A number is reproduced if the {LIMITS.inside_confidence * 100:g} % interval of our mean lies within "
    f"±{LIMITS.reward_margin:.0%} of (reward − 1) or ±{LIMITS.communication_margin:.0%} of a communication around it, "
    f"and different if the {LIMITS.outside_confidence * 100:g} % interval lies outside; a count must be equal. "
    "Directions are tested by seed with Holm's correction over all of them, and those with a tuned α over all of those "
    f"(p); opposite means significant against the paper. With fewer than {LIMITS.min_seeds} seeds everything is "
    "undecided. Mechanical means that both numbers are zero. A claim about several levels of regret has a row for "
    "each, and each row is counted."
)


def of_kind(claims: Sequence[Judged], kind: str) -> list[Judged]:
    """Return the claims of one kind."""
    return [claim for claim in claims if claim.kind == kind]


def counts_text(claims: Sequence[Judged]) -> str:
    """Count claims by verdict, mechanical ones last: 17 reproduced, 1 opposite; and 3 mechanical."""
    return counts_text_of(claim.verdict for claim in claims)


def counts_text_of(verdicts: Iterable[ClaimVerdict]) -> str:
    """Count verdicts, mechanical ones last."""
    counts = count_verdicts(verdicts)
    mechanical = counts.pop(ClaimVerdict.MECHANICAL)
    texts = [", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)]
    texts += [f"{mechanical} mechanical"] if mechanical else []
    return "; and ".join(text for text in texts if text)


def _claim_row(claim: Judged) -> dict[str, Any]:
    mean, low, high = claim.interval or (math.nan, math.nan, math.nan)
    return {
        "kind": claim.kind,
        "place": claim.place,
        "variant": variant_labels()[claim.variant],
        "data": claim.data,
        "claim": claim.claim + (f", {claim.at}" if claim.at else ""),
        "paper": math.nan if claim.paper is None else claim.paper,
        "ours": claim.ours or mean,
        "ours_low": low,
        "ours_high": high,
        "seeds": claim.seeds or None,
        "p": f"{claim.p:.2g}" if claim.p == claim.p else "",
        "verdict": str(claim.verdict) + (f" ({claim.caveat})" if claim.caveat else ""),
        "remark": claim.remark,
    }


def tuned_tables(results: Results) -> list[Table]:
    """Return one table; none if α has not been tuned."""
    if results.tuning.empty:
        return []
    settings = tuned_settings(results.tuning)
    frame = pd.DataFrame([_tuned_row(setting, results.methods) for setting in settings])
    grids = {", ".join(f"{value:g}" for value in grid_of(setting.algorithm)) for setting in settings}
    seeds = choosing_seeds()
    caption = (
        f"α with the best mean normalised reward on {len(seeds)} seeds for choosing ({seeds[0]} to {seeds[-1]}), among "
        f"{'; '.join(sorted(grids))}; {EDGE}: at the edge of the grid. Choosing: the mean on these seeds. Normalised "
        "reward: the mean on the report seeds with a 95 % Student t interval."
    )
    labels, name = results.labels(results.tuning), tuned_experiment()
    return [Table("tuned", "The chosen α", caption, frame, labels, (name,), subject=PAPER)]


def _tuned_row(setting: TunedSetting, methods: Methods) -> dict[str, Any]:
    rewards = setting.runs["normalised_reward"] if setting.runs is not None else pd.Series(dtype=float)
    return {
        "data": dataset_label(setting.stream),
        "algorithm": methods.label(setting.algorithm),
        "threshold": methods.front_text(setting.algorithm, setting.threshold),
        "α": setting.missing or setting.alpha_text,
        "choosing": setting.score,
        **means({"normalised_reward": rewards}),
        "seeds": len(rewards) or None,
    }


KNOWN, ALL = "2 per known client", "2N"


def equal_regret_tables(results: Results) -> list[Table]:
    """Return one table; none without runs of both methods."""
    stated = paper()["equal_regret"]
    first, second = stated["synchronous"], stated["asynchronous"]
    rows: list[dict[str, Any]] = []
    for experiment in stated["experiments"]:
        for stream, runs in results.runs_of(experiment).groupby("stream", sort=False):
            for charge in (KNOWN, ALL):
                fronts = paired_fronts(_charged(runs, first, results) if charge == ALL else runs, first, second)
                levels = at_equal_regret(*fronts, load_protocol().paper.above_least_regret) if fronts[0] else []
                rows += [
                    {
                        "clients": dataset_label(str(stream)),
                        "charge": charge,
                        "above the least": f"{level.above:.0%}",
                        **interval_columns("ratio", level.ratio()),
                        "seeds": int(np.isfinite(level.log_ratios).sum()),
                        "only the first": level.only_first,
                        "only the second": level.only_second,
                    }
                    for level in levels
                ]
    if not rows:
        return []
    names = [results.methods.label(name) for name in (first, second)]
    caption = (
        f"C_T of {names[0]} over C_T of {names[1]} at regrets of a given share above the least regret of both: "
        f"geometric mean over seeds with a 95 % interval; below 1, {names[0]} needs less. log C_T is interpolated "
        "between undominated settings. Charge: the transfers of one synchronisation, 2 per client known at that time "
        "(ours) or 2N, with N the number of clients that appear in the stream. Synchronisations are counted from the "
        "recorded uploads of each client. Last columns: seeds on which only one of the methods reaches this regret."
    )
    experiments = tuple(name for name in stated["experiments"] if name in set(results.runs["experiment"]))
    title = "Communication at equal regret"
    return [Table("equal_regret", title, caption, pd.DataFrame(rows), (), experiments, subject=PAPER)]


def _charged(runs: pd.DataFrame, synchronous: str, results: Results) -> pd.DataFrame:
    """Return the runs with 2N transfers for each synchronisation; runs without client totals are left out."""
    is_sync = runs["algorithm"] == synchronous
    counts = [results.synchronisations(str(run_id)) for run_id in runs.loc[is_sync, "run_id"]]
    transfers = pd.Series(counts, index=runs.index[is_sync], dtype=float) * 2 * runs.loc[is_sync, "clients"]
    communication = transfers.reindex(runs.index).where(is_sync, runs["communication"])
    return runs.assign(communication=communication).dropna(subset=["communication"])
