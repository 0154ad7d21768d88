"""The `Model` resource: versions in the Model Registry."""
