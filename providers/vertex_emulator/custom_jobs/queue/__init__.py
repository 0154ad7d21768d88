"""Quotas, slots, order."""
