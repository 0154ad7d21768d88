"""Cloud Storage, JSON API version 1; unsupported fields and calls are rejected by name."""
