"""Results of runs: one table of runs, one of settings with means over seeds, the best setting within a budget."""
