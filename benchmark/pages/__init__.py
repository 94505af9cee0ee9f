"""What MLflow's pages show: the mean of each setting over its seeds, and one line per experiment."""
