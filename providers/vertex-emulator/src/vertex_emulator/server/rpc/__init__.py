"""Methods by Google's own definitions: messages, filters and long-running operations."""
