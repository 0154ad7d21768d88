"""Base provider, its memory, settings."""
