"""The supervisor: the process that runs one custom job."""
