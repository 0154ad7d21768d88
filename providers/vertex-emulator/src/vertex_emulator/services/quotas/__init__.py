"""Quotas of custom training: limits that are set, what jobs use, and Google's APIs about both."""
