"""From MLflow, and a prepared data set, to the paper's figures and tables and one page; computes no bandit."""
