"""Wait for jobs in the program: progress, logs, Ctrl-C, and failures by name."""
