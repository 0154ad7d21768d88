"""Faults on request: calls that fail, hang, lose their response or return a stale list.

Whoever has the token sets them at `/_local/faults`. They apply by count, not by chance, and live in memory:
an emulator that starts has none.
"""
