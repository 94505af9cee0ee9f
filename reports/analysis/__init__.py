"""Numbers: means over seeds, fronts, rankings, verdicts, user groups."""
