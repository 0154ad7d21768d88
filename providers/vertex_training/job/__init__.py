"""The API's messages of a training job: read, normalised, compared, hashed."""
