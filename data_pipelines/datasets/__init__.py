"""One module per data set, discovered automatically; each has a `DATA_SET`."""
