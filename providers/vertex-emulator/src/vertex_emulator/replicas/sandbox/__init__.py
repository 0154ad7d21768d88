"""Sandboxes of replicas: namespaces, mounts, and the programs that run in them."""
