"""The overview: everything that exists, live."""
