"""The page of one job: topology, replicas, events, log, and what changed since the run before."""
