"""The parser of Dockerfiles."""
