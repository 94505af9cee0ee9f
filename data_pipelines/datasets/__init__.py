"""One file a data set: a module here with a `DATA_SET` is found by itself."""
