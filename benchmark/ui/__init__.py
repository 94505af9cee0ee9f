"""The MLflow UI on this machine."""
