"""Hyperparameter tuning jobs: searches, early stopping, metric files, and the trials that really run."""
