"""StagingBucket."""
