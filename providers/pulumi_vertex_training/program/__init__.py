"""The resource classes that a program imports, one module a kind."""
