"""The page of a tuning job: its trials as a table and in two pictures, and the best of them so far."""
