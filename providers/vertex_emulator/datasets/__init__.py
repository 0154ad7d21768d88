"""Vertex AI's datasets: tables and items in Cloud Storage, and how they are split for training."""
