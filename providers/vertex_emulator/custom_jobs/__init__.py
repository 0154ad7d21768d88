"""Custom jobs: their records, a supervisor process for each job, and the replicas that it runs."""
