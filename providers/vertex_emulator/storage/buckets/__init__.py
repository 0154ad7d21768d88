"""Calls on buckets and what happens by itself."""
