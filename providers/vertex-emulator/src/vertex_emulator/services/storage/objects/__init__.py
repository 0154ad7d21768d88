"""The calls on objects: read, list, copy, compose and move."""
