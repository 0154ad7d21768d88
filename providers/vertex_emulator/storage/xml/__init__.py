"""Cloud Storage's XML API: /BUCKET/OBJECT in paths, what is to be done in method and query."""
