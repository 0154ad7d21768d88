"""Build reproducible Python packages from files and folders, without network access or user code."""
