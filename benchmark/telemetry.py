"""Nobody is told what is run here: MLflow reads these when it is imported, in every process of ours."""

import os

TELEMETRY_OFF = {"MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true"}


def switch_off_telemetry() -> None:
    """Say so in the environment, which all processes inherit that are started from here."""
    os.environ.update(TELEMETRY_OFF)
