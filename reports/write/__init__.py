"""Tables as files, the output folder, and the report's record in MLflow."""
