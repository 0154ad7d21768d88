"""A client of container registries."""
