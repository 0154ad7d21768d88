"""The queue of custom jobs: quotas, slots and the order in which jobs start."""
