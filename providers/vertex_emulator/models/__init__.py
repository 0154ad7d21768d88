"""The Vertex AI Model Registry: models, their versions and the aliases of versions."""
