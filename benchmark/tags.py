"""The tags by which runs are found again."""

KEY = "fedbandit.run_key"
"""The content of a run; see `run_key`."""

KIND = "fedbandit.kind"
"""`run`, `sweep` (the parent of runs), `analysis` (figures and tables of a report) or, of an MLflow experiment,
`experiment`."""
