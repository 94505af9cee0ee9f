"""Algorithm 1, compiled: which clients upload and download, and when."""
