"""One module per kind of table, discovered automatically; each has `tables(results) -> list[Table]`."""
