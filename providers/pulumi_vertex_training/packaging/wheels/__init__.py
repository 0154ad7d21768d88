"""Wheels of them."""
