"""Other forms of a custom job: roles, the flags of gcloud, legacy AI Platform."""
