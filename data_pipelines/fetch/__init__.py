"""Archives: sources, downloads, and safe reading."""
