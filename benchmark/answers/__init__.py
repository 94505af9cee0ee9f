"""Answers from runs: methods compared on one stream, means and intervals, the best setting within a budget."""
