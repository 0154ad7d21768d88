"""The dashboard: a local web server that shows the emulator, live and read-only."""
