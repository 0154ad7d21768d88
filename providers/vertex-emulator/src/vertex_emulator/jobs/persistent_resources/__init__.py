"""Persistent resources: they have no machines, only limits on the replicas that run on them at once."""
