"""Modules that declare one or more data sets; discovered automatically."""
