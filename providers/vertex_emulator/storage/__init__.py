"""Cloud Storage, JSON API version 1; unsupported fields and calls are rejected with 501 by name."""
