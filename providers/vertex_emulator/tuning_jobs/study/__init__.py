"""Searches and stopping rules. Pure."""
