"""The Python packages of replicas, their installation and cache, and the packages of Google's images."""
