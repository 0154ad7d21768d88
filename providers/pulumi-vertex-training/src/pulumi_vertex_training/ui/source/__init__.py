"""The data of the dashboard, read from the emulator's HTTP API."""
