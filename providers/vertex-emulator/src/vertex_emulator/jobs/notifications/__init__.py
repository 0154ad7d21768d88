"""Notifications of the ends of runs, which the emulator sends itself."""
