"""Cloud Logging."""
