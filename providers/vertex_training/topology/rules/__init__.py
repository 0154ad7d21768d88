"""What is wrong with worker pools, a module a topic."""
