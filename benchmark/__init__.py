"""Describe experiments, run them, record every run."""
