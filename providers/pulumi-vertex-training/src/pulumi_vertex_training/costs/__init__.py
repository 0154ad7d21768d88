"""Costs of what is declared and of what ran, in words, and the limits that a stack sets."""
