"""The keys of resources, and ids that another resource has already."""
