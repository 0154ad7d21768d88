"""Vertex AI on the emulator: what its kinds of resources have in common, and how they are put together."""
