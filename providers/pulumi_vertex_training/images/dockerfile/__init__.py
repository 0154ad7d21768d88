"""Reading a Dockerfile."""
