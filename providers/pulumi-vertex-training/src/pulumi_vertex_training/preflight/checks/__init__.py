"""The checks of a preflight: each names its lookups, and judges their answers without any call."""
