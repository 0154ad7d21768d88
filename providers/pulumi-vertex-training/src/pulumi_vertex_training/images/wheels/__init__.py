"""Wheels of a lock file as a layer of an image."""
