"""Compiled parts of single methods."""
