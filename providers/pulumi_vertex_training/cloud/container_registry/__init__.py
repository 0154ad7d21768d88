"""The client of container registries."""
