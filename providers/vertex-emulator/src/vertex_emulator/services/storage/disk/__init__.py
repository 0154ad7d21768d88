"""The records and files of objects, kept consistent with each other."""
