"""The service's own checks; what is carried out here and what is not."""
