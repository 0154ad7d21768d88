"""Container images: stand-ins for base images, unpacking, and what the image of a replica means."""
