"""Folders and files in, reproducible packages and hashes out; no network, and no user code is run."""
