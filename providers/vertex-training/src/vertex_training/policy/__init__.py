"""Policies of an organization: what a declared resource may be, beyond what the service accepts."""
