"""The rules of worker pools, one module for each topic."""
