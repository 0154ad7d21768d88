"""The wire of the engine in the package: names, values and messages."""
