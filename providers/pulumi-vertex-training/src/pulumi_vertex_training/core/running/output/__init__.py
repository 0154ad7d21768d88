"""The lines about a job that a deployment shows: its cost, progress and log, and how a wait for it ended."""
