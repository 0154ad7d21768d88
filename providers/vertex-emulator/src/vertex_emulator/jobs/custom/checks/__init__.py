"""Checks of a custom job, and the effect that each of its fields has on the emulator."""
