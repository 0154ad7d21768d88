"""Namespaces, mounts, and programs in them."""
