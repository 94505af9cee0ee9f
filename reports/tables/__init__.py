"""One file a kind of table; each has `tables(results, context) -> list[Table]`. Adding a file adds its tables."""
