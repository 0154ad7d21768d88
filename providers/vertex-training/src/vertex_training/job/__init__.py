"""The API's messages of a training job: reading, normal form, comparison, hash."""
