"""Findings before a resource is created: missing files, conflicts, missing prerequisites."""
