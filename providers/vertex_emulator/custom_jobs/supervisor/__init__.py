"""The process that runs one job."""
