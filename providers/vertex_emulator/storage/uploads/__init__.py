"""Objects on their way in."""
