"""The API of Artifact Registry: repositories, and views of the images that the container registry holds."""
