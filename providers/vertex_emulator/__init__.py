"""The local cloud: Vertex AI's custom jobs, Cloud Storage and Cloud Logging on one port of this machine."""
