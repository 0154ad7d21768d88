"""The XML API of Cloud Storage, with paths of the form /BUCKET/OBJECT."""
