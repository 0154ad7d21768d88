"""Container images on the emulator: stand-ins for base images, unpacking, and what a replica's image means."""
