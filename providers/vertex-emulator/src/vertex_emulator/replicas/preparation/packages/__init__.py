"""The Python packages of replicas: their installation, their cache, and those of Google's images."""
