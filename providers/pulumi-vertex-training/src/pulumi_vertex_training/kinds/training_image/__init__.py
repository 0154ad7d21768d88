"""The kind `TrainingImage`: a container image that is built from a folder and pushed."""
