"""The page of models, persistent resources, training pipelines and schedules."""
