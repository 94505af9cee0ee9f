"""Read stored runs and prepared data into tables."""
