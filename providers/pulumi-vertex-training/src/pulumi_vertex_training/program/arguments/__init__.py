"""Arguments of resources: their classes, checks and defaults."""
