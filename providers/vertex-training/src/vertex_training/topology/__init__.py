"""Worker pools: roles, normal form and difference."""
