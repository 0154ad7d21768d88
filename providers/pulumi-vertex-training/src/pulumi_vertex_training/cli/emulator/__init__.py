"""The commands that start, stop and control the emulator."""
