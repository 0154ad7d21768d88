"""The search of a hyperparameter tuning job: study, parameters, trials."""
