"""Vertex AI's Model Registry: models, their versions and the aliases of versions."""
