"""The methods of the Artifact Registry API, a module for each collection."""
