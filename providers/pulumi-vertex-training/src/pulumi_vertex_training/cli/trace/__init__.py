"""The command `trace`: from a model back to its parts, and from a part to its models."""
