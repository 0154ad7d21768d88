"""The workflow of a run of any kind: find or submit, watch, cancel, delete."""
