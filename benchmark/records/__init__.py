"""Records in MLflow: written by one process, read by all others."""
