"""Trains a small network on handwritten digits, on one replica or many. Start reading in `task`."""
