"""The rules of a training job apart from those of its worker pools."""
