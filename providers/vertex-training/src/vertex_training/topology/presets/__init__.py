"""Presets of frameworks: what `framework=` chooses for the worker pools of a job."""
