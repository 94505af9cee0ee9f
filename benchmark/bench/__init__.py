"""Measurements behind `fedbandit bench`."""
