"""Faults on request: calls that fail, hang, lose their answer or list what is no longer so.

They are set by whoever holds the token (`/_local/faults`), are counted and not drawn by lot, and live in
memory: an emulator that starts has none.
"""
