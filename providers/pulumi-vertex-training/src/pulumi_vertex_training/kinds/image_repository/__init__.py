"""The kind `ImageRepository`: an Artifact Registry repository for container images."""
