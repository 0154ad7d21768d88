"""The metadata server, from which Application Default Credentials come, and where programs find it."""
