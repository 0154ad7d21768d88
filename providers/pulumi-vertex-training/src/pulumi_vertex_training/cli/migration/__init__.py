"""`migrate-state`: move a stack between dynamic providers and the package, with its jobs."""
