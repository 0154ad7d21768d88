"""The views of container images: repositories, the images of one, and one image."""
