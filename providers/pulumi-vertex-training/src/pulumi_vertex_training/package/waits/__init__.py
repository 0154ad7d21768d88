"""Waits in the call that creates or updates a resource."""
