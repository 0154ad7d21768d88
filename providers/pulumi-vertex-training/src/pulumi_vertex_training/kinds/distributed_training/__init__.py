"""The `DistributedTraining` component."""
