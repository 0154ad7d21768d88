"""Messages, filters, operations."""
