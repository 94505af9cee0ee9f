"""Bundles: runs of a store in one small file, from which another person can execute them again and compare."""
