"""The `CustomJob` resource, and the forms in which people have custom jobs."""
