"""Hyperparameter tuning jobs: trials, metric files and search."""
