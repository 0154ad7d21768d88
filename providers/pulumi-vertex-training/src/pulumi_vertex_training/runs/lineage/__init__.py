"""The lineage of a run: what it and its models were made of, in one file beside the run's outputs."""
