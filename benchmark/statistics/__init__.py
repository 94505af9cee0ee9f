"""Statistics of the benchmark protocol: functions of arrays, tables and small data classes, without files or runs.

A board goes through them in this order: `selection.select` chooses a configuration per method and budget,
`comparison.with_ends` adds the references without communication, `budgets.report_scores` looks up the scores on the
report seeds, `comparison.compare` gives bands and verdicts, and `comparison.ranks_from` the ranks.
"""
