"""A trainer of a small network for handwritten digits, on one replica or many. Start reading in `task`."""
