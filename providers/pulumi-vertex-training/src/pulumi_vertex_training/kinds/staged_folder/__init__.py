"""The kind `StagedFolder`: a local folder of files, uploaded to a bucket below the hash of its content."""
