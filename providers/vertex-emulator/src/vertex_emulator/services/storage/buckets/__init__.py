"""The calls on buckets, and the housekeeping that deletes objects when they are due."""
