"""What a replica needs to run: its command, image, Python packages and ports."""
