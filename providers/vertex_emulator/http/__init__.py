"""Bytes in, request to a handler, response out."""
