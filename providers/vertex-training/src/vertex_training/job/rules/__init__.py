"""The rules of a training job, without its worker pools."""
