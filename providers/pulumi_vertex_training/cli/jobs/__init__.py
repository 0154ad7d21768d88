"""Jobs, status, logs, cancel, import."""
