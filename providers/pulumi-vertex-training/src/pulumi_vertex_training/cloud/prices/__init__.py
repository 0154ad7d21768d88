"""The prices that commands and previews use: the built-in table, and what `prices refresh` has read."""
