"""Service Usage: which of Google's services are enabled in a project."""
