"""Custom jobs: their records, and for each job a supervisor process that runs its replicas."""
