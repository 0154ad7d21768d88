"""Buckets with their objects, and repositories with their images, a page at a time."""
