"""Permissions that a user or a test denies, the policies of projects, and service accounts."""
