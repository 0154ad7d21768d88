"""Vertex AI's training pipelines: data, a job that trains on it, a model."""
