"""Alternating minimisation over a global and a local model, compiled: for methods with partial models."""
