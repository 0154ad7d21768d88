"""The rules of a study and its parameters."""
