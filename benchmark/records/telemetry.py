"""Disable MLflow telemetry."""

import os

TELEMETRY_OFF = {"MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true"}


def switch_off_telemetry() -> None:
    """Set the variables that MLflow reads when it is imported; child processes inherit them."""
    os.environ.update(TELEMETRY_OFF)
