"""The layer of an image with the wheels of a lock file."""
