"""Programs that tests, examples and policies need besides the Python packages."""
