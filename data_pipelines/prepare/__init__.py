"""From the tables of an archive to a prepared data set on disk."""
