"""The local emulator: Vertex AI, Cloud Storage, Artifact Registry and Cloud Logging on one port."""
