"""The Artifact Registry API: repositories, and views of the images that the container registry stores."""
