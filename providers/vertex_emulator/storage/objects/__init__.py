"""Calls on objects."""
