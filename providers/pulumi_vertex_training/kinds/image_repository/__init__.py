"""ImageRepository."""
