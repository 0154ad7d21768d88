"""Uploads of objects: simple, multipart and resumable."""
