"""Training pipelines: input data, the training job, and the trained model."""
