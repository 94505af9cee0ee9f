"""Readers of tables in archives."""
