"""`TrainingEnvironment`: what a team needs once for all trainings of a stage, such as dev or prod."""
