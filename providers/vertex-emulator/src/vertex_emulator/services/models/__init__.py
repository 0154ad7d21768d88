"""The Vertex AI Model Registry: models, versions and version aliases."""
