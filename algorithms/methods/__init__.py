"""The declarations of the methods, one module each. Its kernel and its literal form are imported when needed."""
