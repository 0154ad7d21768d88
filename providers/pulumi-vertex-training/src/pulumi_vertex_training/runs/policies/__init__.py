"""Decisions about runs, as tables: when a job runs again, and how it is deleted."""
