"""TrainingPipeline."""
