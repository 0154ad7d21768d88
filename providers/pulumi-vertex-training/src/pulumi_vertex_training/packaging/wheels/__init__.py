"""Build reproducible wheels of scripts, folders and projects."""
