"""Other ways to write one."""
