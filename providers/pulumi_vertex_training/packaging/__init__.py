"""Reproducible Python packages and hashes from files and folders, without network or user code."""
