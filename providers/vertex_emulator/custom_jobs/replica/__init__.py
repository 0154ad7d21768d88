"""Command, image, packages, port."""
