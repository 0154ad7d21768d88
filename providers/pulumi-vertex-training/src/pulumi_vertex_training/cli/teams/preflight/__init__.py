"""`preflight`: whether the project lets the jobs of a file or of a stack run."""
