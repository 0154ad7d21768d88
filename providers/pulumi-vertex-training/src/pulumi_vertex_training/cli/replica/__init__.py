"""The command `replica`, which runs commands in the replicas of a job."""
