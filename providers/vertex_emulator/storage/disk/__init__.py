"""Records and files of objects, kept together."""
