"""The `TrainingPipeline` resource."""
