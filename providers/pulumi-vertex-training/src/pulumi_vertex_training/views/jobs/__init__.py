"""Read the jobs of a project and location, find the one that a name means, and show its state."""
