"""Cloud Logging: the log entries of jobs and of programs, and their query language."""
