"""One module per kind of figure, discovered automatically; each has `figures(results) -> list[Figure]`."""
