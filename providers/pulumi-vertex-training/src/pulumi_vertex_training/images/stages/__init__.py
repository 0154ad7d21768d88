"""Evaluate the instructions of a Dockerfile, stage by stage."""
