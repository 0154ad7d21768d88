"""The commands `explain` and `diff`."""
