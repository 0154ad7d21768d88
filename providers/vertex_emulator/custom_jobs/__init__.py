"""Custom jobs of the emulator: the records, one supervisor process a job, and the replicas it runs."""
