"""Readers of project files that never run them."""
