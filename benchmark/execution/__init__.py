"""One run, and many runs on processes or a cluster."""
