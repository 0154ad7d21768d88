"""The emulator's process: its ports, its services, and what a user does with it as a whole."""
