"""Compiled linear algebra, tie-breaking and the compiler's options."""
