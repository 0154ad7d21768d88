"""Documents that declare a resource of any kind: how they are recognised and read."""
