"""What the resources of Vertex AI share: names, records, lists, operations and archives."""
