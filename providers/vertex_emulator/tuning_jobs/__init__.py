"""Hyperparameter tuning jobs: their trials, metric files, and search."""
