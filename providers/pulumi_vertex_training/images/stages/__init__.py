"""The evaluation of the instructions of a Dockerfile, stage by stage."""
