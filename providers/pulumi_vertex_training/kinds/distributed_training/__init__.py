"""DistributedTraining (a component)."""
