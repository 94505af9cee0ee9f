"""The paper's methods."""
