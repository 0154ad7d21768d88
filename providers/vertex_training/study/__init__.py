"""StudySpec, trials."""
