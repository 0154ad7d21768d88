"""Searches and early stopping rules of a study."""
