"""The kind `StagingBucket`: a Cloud Storage bucket for training jobs."""
