"""Monitor a run: its state, its progress, and why it waits."""
