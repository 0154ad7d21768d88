"""Explain and diff."""
