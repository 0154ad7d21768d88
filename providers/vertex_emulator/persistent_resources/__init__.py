"""Persistent resources on the emulator: no machines, but who may run how much at once."""
