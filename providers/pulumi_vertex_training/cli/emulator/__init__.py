"""Emulator ."""
