"""Notifications of the end of a run."""
