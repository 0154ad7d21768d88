"""CustomJob."""
