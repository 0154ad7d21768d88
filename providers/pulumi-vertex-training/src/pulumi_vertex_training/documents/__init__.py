"""Documents that declare a resource of any kind: how they are recognized and read."""
