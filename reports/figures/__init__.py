"""One file a kind of figure; each has `figures(results, context) -> list[Figure]`. Adding a file adds its figures."""
