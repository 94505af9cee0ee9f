"""Generated archives in the official formats."""
