"""TrainingImage."""
