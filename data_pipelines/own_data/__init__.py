"""The user's own tables: their format, columns, times, ratings and problems."""
