"""Persistent resources: no machines, but limits on how much runs on them at once."""
