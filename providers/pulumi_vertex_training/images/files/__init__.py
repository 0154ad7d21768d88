"""Trees of files and layers."""
