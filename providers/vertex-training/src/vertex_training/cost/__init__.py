"""Prices of training on Vertex AI, and the cost of jobs, tuning jobs and persistent resources."""
