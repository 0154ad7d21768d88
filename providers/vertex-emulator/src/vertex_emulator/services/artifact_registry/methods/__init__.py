"""The methods of the Artifact Registry API."""
