"""Shared code of Vertex AI resources: names, records, lists, operations and archives."""
