"""A release: its distributions, archives, bills of materials and version."""
