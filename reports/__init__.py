"""Figures, tables and one page from the runs in MLflow and the prepared data sets; no bandit is run."""
