"""Container images of replicas: names, stand-ins for base images, and unpacking."""
