"""Checks of the whole clone: words, links, messages, and the budget."""
