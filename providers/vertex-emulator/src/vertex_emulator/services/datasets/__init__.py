"""Vertex AI datasets: tables and items in Cloud Storage, and their split for training."""
