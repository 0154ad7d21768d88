"""The environment variables that each replica of a job finds on Vertex AI."""
