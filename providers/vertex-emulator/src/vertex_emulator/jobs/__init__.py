"""Runs of all kinds: custom jobs, tuning jobs, pipelines, their machines and notifications."""
