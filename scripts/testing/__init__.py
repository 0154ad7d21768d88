"""The chore `make test`: choose test files, run them in several processes, and report."""
