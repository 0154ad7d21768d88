"""Its methods, a module a collection."""
