"""Start of a replica: its command, image and Python packages."""
