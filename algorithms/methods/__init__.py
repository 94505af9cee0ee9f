"""The declarations of the methods, one or several per module. Kernels and literal forms are imported when needed."""
