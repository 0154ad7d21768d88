"""Faults on request: calls that fail, hang, lose their response or return a stale list.

A client with the token sets them at `/_local/faults`. They apply by count, not by chance, and are kept in
memory: a new emulator has no faults.
"""
