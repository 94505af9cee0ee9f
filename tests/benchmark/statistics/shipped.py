"""The statistics with the values of the shipped protocol."""

from functools import partial

from benchmark.protocol import load_protocol
from benchmark.statistics import budgets, intervals, selection, verdicts

PROTOCOL = load_protocol()
CHOOSING_SEEDS = PROTOCOL.seeds.choosing.seeds
BUDGETS = tuple(PROTOCOL.budgets.all)
LIMITS = PROTOCOL.limits()
PASSES = PROTOCOL.halving()
RULES = PROTOCOL.rules()
MIN_SEEDS = PROTOCOL.comparison.min_report_seeds

select = partial(selection.select, passes=PASSES)
simultaneous_bands = partial(
    intervals.simultaneous_bands, confidence=RULES.confidence, repetitions=RULES.repetitions, seed=RULES.seed
)
report_scores = partial(budgets.report_scores, choosing=CHOOSING_SEEDS)
verdict = partial(verdicts.verdict, min_seeds=MIN_SEEDS)
equivalence_margin = partial(verdicts.equivalence_margin, share=RULES.margin_share)
verdicts_on_directions = partial(
    verdicts.verdicts_on_directions, level=PROTOCOL.paper.level, min_seeds=PROTOCOL.paper.min_seeds
)
verdict_on_number = partial(
    verdicts.verdict_on_number,
    inside_confidence=PROTOCOL.paper.inside_confidence,
    outside_confidence=PROTOCOL.paper.outside_confidence,
    min_seeds=PROTOCOL.paper.min_seeds,
)
