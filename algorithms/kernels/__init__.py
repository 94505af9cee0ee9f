"""The compiled methods, one module each, with the same names as in `algorithms/methods`."""
