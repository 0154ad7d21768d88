"""Artifact Registry's API: repositories, and views of the images that the registry holds for them."""
