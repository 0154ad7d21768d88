"""The views of storage: buckets, folders and objects."""
