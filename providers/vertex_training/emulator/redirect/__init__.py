"""For PYTHONPATH, in shells and replicas: Google's Python clients in any program find the emulator."""
