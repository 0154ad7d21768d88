"""MetadataService: metadata stores with contexts, artifacts, executions and schemas."""
