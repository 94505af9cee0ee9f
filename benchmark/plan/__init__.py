"""From experiment files and options to a list of runs."""
