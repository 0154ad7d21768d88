"""The command `vertex-training`."""
