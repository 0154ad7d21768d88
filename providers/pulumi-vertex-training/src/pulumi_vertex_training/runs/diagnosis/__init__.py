"""The diagnosis of a failed job."""
