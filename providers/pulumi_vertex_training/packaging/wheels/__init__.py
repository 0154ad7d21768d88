"""Reproducible wheels of scripts, folders and projects."""
