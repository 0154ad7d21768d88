"""Training pipelines: input data, the job that trains on it, and the model that it makes."""
