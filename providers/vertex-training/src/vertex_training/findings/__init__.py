"""Rules, findings about a declaration that breaks them, and helpers for their messages."""
